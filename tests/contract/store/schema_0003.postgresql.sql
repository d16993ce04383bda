SELECT pg_catalog.set_config('search_path', '', false);
CREATE TABLE public.alarms (
    name text NOT NULL,
    detail text NOT NULL,
    since timestamp with time zone NOT NULL,
    sent_at timestamp with time zone,
    not_before timestamp with time zone NOT NULL,
    ended_at timestamp with time zone
);
CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.attempts (
    delivery_id bigint NOT NULL,
    number integer NOT NULL,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    outcome text NOT NULL,
    detail text NOT NULL
);
CREATE TABLE public.changes (
    id bigint NOT NULL,
    paper_id bigint NOT NULL,
    version_id bigint NOT NULL,
    previous_version_id bigint,
    kind text NOT NULL,
    fields text NOT NULL,
    run_id bigint NOT NULL,
    found_at timestamp with time zone NOT NULL,
    announced_on date
);
CREATE TABLE public.consents (
    id bigint NOT NULL,
    subscriber_id bigint NOT NULL,
    subscription text NOT NULL,
    event text NOT NULL,
    how text NOT NULL,
    at timestamp with time zone NOT NULL
);
CREATE SEQUENCE public.consents_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.consents_id_seq OWNED BY public.consents.id;
CREATE TABLE public.cursors (
    source text NOT NULL,
    query_key text NOT NULL,
    last_complete_run_id bigint,
    last_complete_at timestamp with time zone,
    mark_month integer NOT NULL,
    mark_number integer NOT NULL,
    bootstrapped_at timestamp with time zone NOT NULL
);
CREATE TABLE public.deliveries (
    id bigint NOT NULL,
    digest_id bigint NOT NULL,
    destination text NOT NULL,
    part integer NOT NULL,
    parts integer NOT NULL,
    state text NOT NULL,
    not_before timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    token bigint NOT NULL,
    owner text NOT NULL,
    lease_until double precision,
    idempotency_key text NOT NULL,
    media_type text,
    body bytea,
    name text NOT NULL,
    sending_at timestamp with time zone,
    remote_address text NOT NULL,
    remote_id text NOT NULL,
    last_error text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    share text NOT NULL,
    refusal text,
    held_at timestamp with time zone
);
ALTER TABLE ONLY public.deliveries ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE SEQUENCE public.deliveries_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.deliveries_id_seq OWNED BY public.deliveries.id;
CREATE TABLE public.destination_addresses (
    destination text NOT NULL,
    remote_address text NOT NULL,
    blocked_until timestamp with time zone
);
CREATE TABLE public.digests (
    id bigint NOT NULL,
    subscription_id bigint NOT NULL,
    slot text NOT NULL,
    occasion text NOT NULL,
    planned_at timestamp with time zone NOT NULL,
    zone text NOT NULL,
    title text NOT NULL,
    content text NOT NULL,
    papers integer NOT NULL,
    shown integer NOT NULL
);
CREATE SEQUENCE public.digests_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.digests_id_seq OWNED BY public.digests.id;
CREATE TABLE public.forgotten (
    archive text NOT NULL,
    month integer NOT NULL,
    papers bytea NOT NULL
);
CREATE TABLE public.forgotten_days (
    announcement date NOT NULL,
    papers integer NOT NULL
);
CREATE TABLE public.gaps (
    month integer NOT NULL,
    number integer NOT NULL,
    state text NOT NULL,
    missed_at timestamp with time zone NOT NULL,
    asks integer NOT NULL,
    asked_at timestamp with time zone,
    ended_at timestamp with time zone,
    reason text NOT NULL
);
CREATE TABLE public.gate (
    name text NOT NULL,
    holder text NOT NULL,
    token bigint NOT NULL,
    lease_until double precision NOT NULL,
    next_at double precision NOT NULL,
    breaker_until double precision NOT NULL,
    breaker_failures integer NOT NULL,
    breaker_reason text NOT NULL
);
CREATE TABLE public.installation (
    id bigint NOT NULL,
    secret text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    sent_until timestamp with time zone
);
CREATE TABLE public.job_turns (
    owner text NOT NULL,
    job text NOT NULL,
    turns integer NOT NULL,
    began_at timestamp with time zone,
    ended_at timestamp with time zone,
    trouble text NOT NULL
);
CREATE TABLE public.libraries (
    id bigint NOT NULL,
    source text NOT NULL,
    version text NOT NULL,
    read_at timestamp with time zone,
    asked_at timestamp with time zone,
    trouble text NOT NULL,
    troubles json NOT NULL
);
CREATE SEQUENCE public.libraries_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.libraries_id_seq OWNED BY public.libraries.id;
CREATE TABLE public.library_papers (
    library_id bigint NOT NULL,
    "position" integer NOT NULL,
    arxiv_id text NOT NULL,
    doi text NOT NULL,
    title text NOT NULL,
    abstract text NOT NULL,
    collection text NOT NULL,
    opinion text NOT NULL,
    asked_at timestamp with time zone
);
CREATE TABLE public.marks (
    name text NOT NULL,
    value bigint NOT NULL
);
CREATE TABLE public.match_runs (
    id bigint NOT NULL,
    from_change bigint NOT NULL,
    to_change bigint NOT NULL,
    matched_at timestamp with time zone NOT NULL,
    occasion text NOT NULL
);
CREATE SEQUENCE public.match_runs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.match_runs_id_seq OWNED BY public.match_runs.id;
CREATE TABLE public.matches (
    match_run_id bigint NOT NULL,
    subscription_id bigint NOT NULL,
    occasion text NOT NULL,
    changes bytea NOT NULL,
    papers integer NOT NULL,
    digest_id bigint,
    matched_at timestamp with time zone NOT NULL,
    brought bytea NOT NULL
);
CREATE TABLE public.near_days (
    announced_on date NOT NULL,
    subscription_id bigint NOT NULL,
    "least" bigint NOT NULL
);
CREATE TABLE public.papers (
    id bigint NOT NULL,
    arxiv_id text NOT NULL,
    month integer NOT NULL,
    number integer NOT NULL,
    archive text NOT NULL,
    latest_version_id bigint,
    datestamp date,
    as_of timestamp with time zone,
    announcement date,
    is_kept boolean NOT NULL,
    forgotten_version integer,
    forgotten_hash text,
    forgotten_at timestamp with time zone
);
CREATE SEQUENCE public.papers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.papers_id_seq OWNED BY public.papers.id;
CREATE TABLE public.poll_runs (
    id bigint NOT NULL,
    source text NOT NULL,
    query_key text NOT NULL,
    window_from date,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    outcome text NOT NULL,
    pages integer NOT NULL,
    papers integer NOT NULL,
    total integer,
    new integer NOT NULL,
    changed integer NOT NULL,
    highest_id text NOT NULL,
    is_bootstrap boolean NOT NULL,
    failure text NOT NULL,
    reader_message text NOT NULL,
    requests integer NOT NULL,
    lookback integer NOT NULL,
    next_token text NOT NULL,
    owner text NOT NULL
);
CREATE SEQUENCE public.poll_runs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.poll_runs_id_seq OWNED BY public.poll_runs.id;
CREATE TABLE public.quarantine (
    id bigint NOT NULL,
    run_id bigint NOT NULL,
    page integer NOT NULL,
    "position" integer NOT NULL,
    error text NOT NULL,
    snippet bytea NOT NULL,
    name text NOT NULL,
    seen_at timestamp with time zone NOT NULL
);
CREATE SEQUENCE public.quarantine_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.quarantine_id_seq OWNED BY public.quarantine.id;
CREATE TABLE public.query_matches (
    match_run_id bigint NOT NULL,
    revision_id bigint NOT NULL,
    new bytea NOT NULL,
    changed bytea NOT NULL,
    gone bytea NOT NULL
);
CREATE TABLE public.query_revisions (
    id bigint NOT NULL,
    query_id bigint NOT NULL,
    number integer NOT NULL,
    text text NOT NULL,
    canonical text NOT NULL,
    problem text NOT NULL,
    active_from_change bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone
);
CREATE SEQUENCE public.query_revisions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.query_revisions_id_seq OWNED BY public.query_revisions.id;
CREATE TABLE public.request_counts (
    name text NOT NULL,
    hour integer NOT NULL,
    count integer NOT NULL
);
CREATE TABLE public.requests (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    method text NOT NULL,
    url text NOT NULL,
    status integer,
    milliseconds integer NOT NULL,
    size integer NOT NULL,
    outcome text NOT NULL,
    detail text NOT NULL
);
CREATE SEQUENCE public.requests_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.requests_id_seq OWNED BY public.requests.id;
CREATE TABLE public.saved_queries (
    id bigint NOT NULL,
    name text NOT NULL,
    origin text NOT NULL,
    state text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone
);
CREATE SEQUENCE public.saved_queries_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.saved_queries_id_seq OWNED BY public.saved_queries.id;
CREATE TABLE public.signups (
    id bigint NOT NULL,
    kind text NOT NULL,
    address text NOT NULL,
    choices text NOT NULL,
    token text NOT NULL,
    asked_at timestamp with time zone NOT NULL,
    ends_at timestamp with time zone NOT NULL
);
CREATE SEQUENCE public.signups_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.signups_id_seq OWNED BY public.signups.id;
CREATE TABLE public.subscribers (
    id bigint NOT NULL,
    address text NOT NULL,
    state text NOT NULL,
    how text NOT NULL,
    since timestamp with time zone NOT NULL
);
CREATE SEQUENCE public.subscribers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.subscribers_id_seq OWNED BY public.subscribers.id;
CREATE TABLE public.subscription_destinations (
    id bigint NOT NULL,
    subscription_id bigint NOT NULL,
    destination text NOT NULL,
    "position" integer NOT NULL,
    state text NOT NULL,
    reason text NOT NULL,
    since timestamp with time zone NOT NULL,
    is_joined boolean NOT NULL,
    is_new boolean NOT NULL
);
CREATE SEQUENCE public.subscription_destinations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.subscription_destinations_id_seq OWNED BY public.subscription_destinations.id;
CREATE TABLE public.subscription_queries (
    subscription_id bigint NOT NULL,
    query_id bigint NOT NULL,
    "position" integer NOT NULL,
    first_digest_run_id bigint,
    added_at timestamp with time zone NOT NULL
);
CREATE TABLE public.subscriptions (
    id bigint NOT NULL,
    name text NOT NULL,
    title text NOT NULL,
    origin text NOT NULL,
    state text NOT NULL,
    cadence text NOT NULL,
    kinds text NOT NULL,
    when_empty text NOT NULL,
    show integer,
    abstracts text NOT NULL,
    look_back integer NOT NULL,
    exclude_queries text NOT NULL,
    exclude_papers text NOT NULL,
    library text NOT NULL,
    not_like text NOT NULL,
    read_first text NOT NULL,
    read_last text NOT NULL,
    quiet_hours text NOT NULL,
    group_by text NOT NULL,
    next_due_at timestamp with time zone,
    last_slot text NOT NULL,
    awaits_after bigint,
    unchecked text DEFAULT ''::text NOT NULL,
    last_planned_at timestamp with time zone,
    plan_after bigint NOT NULL,
    paused_until timestamp with time zone,
    feed_generation integer NOT NULL,
    feed_revoked_at timestamp with time zone,
    subscriber_id bigint,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone
);
CREATE SEQUENCE public.subscriptions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.subscriptions_id_seq OWNED BY public.subscriptions.id;
CREATE TABLE public.suppressions (
    destination text NOT NULL,
    subscription text NOT NULL,
    reason text NOT NULL,
    since timestamp with time zone NOT NULL
);
CREATE TABLE public.tokens (
    hash text NOT NULL,
    purpose text NOT NULL,
    destination text NOT NULL,
    subscription text NOT NULL,
    digest_id bigint,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.versions (
    id bigint NOT NULL,
    paper_id bigint NOT NULL,
    version integer NOT NULL,
    content_hash text NOT NULL,
    title text NOT NULL,
    abstract text NOT NULL,
    authors json NOT NULL,
    categories text NOT NULL,
    comment text NOT NULL,
    journal_ref text NOT NULL,
    dois json NOT NULL,
    report_no text NOT NULL,
    license text NOT NULL,
    published timestamp with time zone NOT NULL,
    updated timestamp with time zone NOT NULL,
    is_withdrawn boolean NOT NULL
);
CREATE SEQUENCE public.versions_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.versions_id_seq OWNED BY public.versions.id;
CREATE TABLE public.word_counts (
    id bigint NOT NULL,
    made_at timestamp with time zone NOT NULL,
    papers integer NOT NULL,
    counts bytea NOT NULL
);
CREATE SEQUENCE public.word_counts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.word_counts_id_seq OWNED BY public.word_counts.id;
CREATE TABLE public.workers (
    owner text NOT NULL,
    release text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    started_at timestamp with time zone NOT NULL,
    seen_at double precision NOT NULL
);
ALTER TABLE ONLY public.consents ALTER COLUMN id SET DEFAULT nextval('public.consents_id_seq'::regclass);
ALTER TABLE ONLY public.deliveries ALTER COLUMN id SET DEFAULT nextval('public.deliveries_id_seq'::regclass);
ALTER TABLE ONLY public.digests ALTER COLUMN id SET DEFAULT nextval('public.digests_id_seq'::regclass);
ALTER TABLE ONLY public.libraries ALTER COLUMN id SET DEFAULT nextval('public.libraries_id_seq'::regclass);
ALTER TABLE ONLY public.match_runs ALTER COLUMN id SET DEFAULT nextval('public.match_runs_id_seq'::regclass);
ALTER TABLE ONLY public.papers ALTER COLUMN id SET DEFAULT nextval('public.papers_id_seq'::regclass);
ALTER TABLE ONLY public.poll_runs ALTER COLUMN id SET DEFAULT nextval('public.poll_runs_id_seq'::regclass);
ALTER TABLE ONLY public.quarantine ALTER COLUMN id SET DEFAULT nextval('public.quarantine_id_seq'::regclass);
ALTER TABLE ONLY public.query_revisions ALTER COLUMN id SET DEFAULT nextval('public.query_revisions_id_seq'::regclass);
ALTER TABLE ONLY public.requests ALTER COLUMN id SET DEFAULT nextval('public.requests_id_seq'::regclass);
ALTER TABLE ONLY public.saved_queries ALTER COLUMN id SET DEFAULT nextval('public.saved_queries_id_seq'::regclass);
ALTER TABLE ONLY public.signups ALTER COLUMN id SET DEFAULT nextval('public.signups_id_seq'::regclass);
ALTER TABLE ONLY public.subscribers ALTER COLUMN id SET DEFAULT nextval('public.subscribers_id_seq'::regclass);
ALTER TABLE ONLY public.subscription_destinations ALTER COLUMN id SET DEFAULT nextval('public.subscription_destinations_id_seq'::regclass);
ALTER TABLE ONLY public.subscriptions ALTER COLUMN id SET DEFAULT nextval('public.subscriptions_id_seq'::regclass);
ALTER TABLE ONLY public.versions ALTER COLUMN id SET DEFAULT nextval('public.versions_id_seq'::regclass);
ALTER TABLE ONLY public.word_counts ALTER COLUMN id SET DEFAULT nextval('public.word_counts_id_seq'::regclass);
INSERT INTO public.alembic_version VALUES
	('0003');
INSERT INTO public.attempts VALUES
	(1, 1, '2026-11-20 03:47:04+00', '2026-11-20 03:47:05+00', 'sent', '250 2.0.0 OK: queued as 1'),
	(2, 1, '2026-11-20 03:47:05+00', '2026-11-20 03:47:05+00', 'sent', '250 2.0.0 OK: queued as 2'),
	(3, 1, '2026-11-20 03:47:05+00', '2026-11-20 03:47:05+00', 'sent', '250 2.0.0 OK: queued as 3'),
	(4, 1, '2026-11-20 03:47:05+00', '2026-11-20 03:47:05+00', 'sent', '250 2.0.0 OK: queued as 4'),
	(5, 1, '2026-11-20 03:47:05+00', '2026-11-20 03:47:05+00', 'sent', '250 2.0.0 OK: queued as 5'),
	(6, 1, '2026-11-20 03:47:05+00', '2026-11-20 03:47:05+00', 'sent', '250 2.0.0 OK: queued as 6'),
	(7, 1, '2026-11-20 03:47:05+00', '2026-11-20 03:47:05+00', 'sent', '250 2.0.0 OK: queued as 7'),
	(8, 1, '2026-11-20 03:47:05+00', '2026-11-20 03:47:05+00', 'sent', '250 2.0.0 OK: queued as 8'),
	(9, 1, '2026-11-20 03:47:04+00', '2026-11-20 03:47:04+00', 'sent', 'posted'),
	(10, 1, '2026-11-20 03:47:05+00', '2026-11-20 03:47:05+00', 'sent', 'posted'),
	(11, 1, '2026-12-01 03:47:00+00', '2026-12-01 03:47:00+00', 'ready', 'the mail server answered 451 at RCPT TO: 4.3.0 try later'),
	(13, 1, '2026-12-01 03:47:00+00', NULL, 'sending', ''),
	(14, 1, '2026-12-01 03:47:00+00', '2026-12-01 03:47:00+00', 'sent', '250 2.0.0 OK: queued as 9'),
	(15, 1, '2026-12-01 03:47:00+00', '2026-12-01 03:47:00+00', 'unknown', 'the connection broke after the final dot, before the mail server answered: Connection unexpectedly closed. The server may have taken the mail. Search its log for the Message-ID'),
	(16, 1, '2026-12-01 03:47:00+00', '2026-12-01 03:47:00+00', 'held', 'the mail server answered 554 at RCPT TO: 5.7.1 sender rejected. The server''s policy refuses this machine, its sender or the mail, not the reader. Check `mail.from`, `mail.helo`, the sender''s domain (SPF, DKIM, DMARC) and block lists, or ask the server''s operator'),
	(17, 1, '2026-12-01 03:47:00+00', '2026-12-01 03:47:00+00', 'dead', 'the mail server answered 550 at RCPT TO: 5.1.1 no such user. Check the address, or take it out of the subscription'),
	(19, 1, '2026-12-01 03:47:00+00', NULL, 'sending', '');
INSERT INTO public.changes VALUES
	(1, 1, 1, NULL, 'known', '', 1, '2026-11-20 03:47:00+00', '2026-11-19'),
	(2, 2, 2, NULL, 'known', '', 1, '2026-11-20 03:47:00+00', '2026-11-19'),
	(3, 3, 3, NULL, 'known', '', 1, '2026-11-20 03:47:00+00', '2026-11-19'),
	(4, 4, 4, NULL, 'new', '', 4, '2026-12-01 03:47:00+00', '2026-11-30');
INSERT INTO public.consents VALUES
	(1, 1, 'perf-team', 'confirmed', 'operator', '2026-11-20 03:47:00+00'),
	(2, 2, 'perf-team', 'confirmed', 'operator', '2026-11-20 03:47:00+00'),
	(3, 3, 'perf-team', 'confirmed', 'operator', '2026-11-20 03:47:00+00'),
	(4, 4, 'perf-team', 'confirmed', 'operator', '2026-11-20 03:47:00+00'),
	(5, 5, 'perf-team', 'confirmed', 'operator', '2026-11-20 03:47:00+00'),
	(6, 6, 'perf-team', 'confirmed', 'operator', '2026-11-20 03:47:00+00'),
	(7, 7, 'perf-team', 'confirmed', 'operator', '2026-11-20 03:47:00+00'),
	(8, 8, 'perf-team', 'confirmed', 'operator', '2026-11-20 03:47:00+00'),
	(9, 8, 'perf-team', 'unsubscribed', 'page', '2026-12-01 03:47:00+00');
INSERT INTO public.cursors VALUES
	('first-digest', 'cat:cs.PF', 3, '2026-11-20 03:47:00+00', 0, 0, '2026-11-20 03:47:00+00'),
	('gaps', '', 5, '2026-12-01 03:47:00+00', 0, 0, '2026-11-20 03:47:00+00'),
	('harvest', '', 4, '2026-12-01 03:47:00+00', 202611, 15002, '2026-11-20 03:47:00+00');
INSERT INTO public.deliveries VALUES
	(1, 1, 'mailto:ready@example.org', 0, 1, 'sent', '2026-11-20 03:47:04+00', 1, 1, 'test', NULL, 'dbd0e148-ba98-56e4-ac67-1c3469ecdbc2', NULL, NULL, 'perf-team-run-2.eml', '2026-11-20 03:47:04+00', 'ready@example.org', '', '', '2026-11-20 03:47:04+00', '2026-11-20 03:47:05+00', '', NULL, NULL),
	(2, 1, 'mailto:claimed@example.org', 0, 1, 'sent', '2026-11-20 03:47:04+00', 1, 1, 'test', NULL, '814fa0c1-aa22-559d-8af6-265c72d1dcd9', NULL, NULL, 'perf-team-run-2.eml', '2026-11-20 03:47:05+00', 'claimed@example.org', '', '', '2026-11-20 03:47:04+00', '2026-11-20 03:47:05+00', '', NULL, NULL),
	(3, 1, 'mailto:sending@example.org', 0, 1, 'sent', '2026-11-20 03:47:04+00', 1, 1, 'test', NULL, '258f8de0-f48e-5dec-beaa-e095f81e8154', NULL, NULL, 'perf-team-run-2.eml', '2026-11-20 03:47:05+00', 'sending@example.org', '', '', '2026-11-20 03:47:04+00', '2026-11-20 03:47:05+00', '', NULL, NULL),
	(4, 1, 'mailto:sent@example.org', 0, 1, 'sent', '2026-11-20 03:47:04+00', 1, 1, 'test', NULL, '39a019f6-2559-5358-af6e-e0fd873a07ff', NULL, NULL, 'perf-team-run-2.eml', '2026-11-20 03:47:05+00', 'sent@example.org', '', '', '2026-11-20 03:47:04+00', '2026-11-20 03:47:05+00', '', NULL, NULL),
	(5, 1, 'mailto:unknown@example.org', 0, 1, 'sent', '2026-11-20 03:47:04+00', 1, 1, 'test', NULL, 'bb67c03c-9f16-56a9-bf0b-3e250c1377e6', NULL, NULL, 'perf-team-run-2.eml', '2026-11-20 03:47:05+00', 'unknown@example.org', '', '', '2026-11-20 03:47:04+00', '2026-11-20 03:47:05+00', '', NULL, NULL),
	(6, 1, 'mailto:held@example.org', 0, 1, 'sent', '2026-11-20 03:47:04+00', 1, 1, 'test', NULL, 'e0bf522b-2c97-59ca-b878-9bd1879948bf', NULL, NULL, 'perf-team-run-2.eml', '2026-11-20 03:47:05+00', 'held@example.org', '', '', '2026-11-20 03:47:04+00', '2026-11-20 03:47:05+00', '', NULL, NULL),
	(7, 1, 'mailto:dead@example.org', 0, 1, 'sent', '2026-11-20 03:47:04+00', 1, 1, 'test', NULL, '3321afaf-9b26-59af-87a4-b76a75d37a68', NULL, NULL, 'perf-team-run-2.eml', '2026-11-20 03:47:05+00', 'dead@example.org', '', '', '2026-11-20 03:47:04+00', '2026-11-20 03:47:05+00', '', NULL, NULL),
	(8, 1, 'mailto:suppressed@example.org', 0, 1, 'sent', '2026-11-20 03:47:04+00', 1, 1, 'test', NULL, 'cdc1e636-8bb4-52f2-b6dc-3e1962d10565', NULL, NULL, 'perf-team-run-2.eml', '2026-11-20 03:47:05+00', 'suppressed@example.org', '', '', '2026-11-20 03:47:04+00', '2026-11-20 03:47:05+00', '', NULL, NULL),
	(9, 1, 'slack:#papers', 0, 2, 'sent', '2026-11-20 03:47:04+00', 1, 1, 'test', NULL, '197a7ec8-f250-529a-a0b8-c4d87cb0a9be', NULL, NULL, 'perf-team-run-2.json', '2026-11-20 03:47:04+00', 'C000PAPERS', '1795146424.000000', '', '2026-11-20 03:47:04+00', '2026-11-20 03:47:04+00', '0-0-3-title', NULL, NULL),
	(10, 1, 'slack:#papers', 1, 2, 'sent', '2026-11-20 03:47:04+00', 1, 1, 'test', NULL, 'e7683d8d-60bc-518f-b3f5-8be08ec63f16', NULL, NULL, 'perf-team-run-2-2.json', '2026-11-20 03:47:05+00', 'C000PAPERS', '1795146425.000000', '', '2026-11-20 03:47:04+00', '2026-11-20 03:47:05+00', '0-3-3-one sentence', NULL, NULL),
	(11, 2, 'mailto:ready@example.org', 0, 1, 'ready', '2026-12-01 03:47:45+00', 1, 1, 'test', NULL, '77883513-cb07-5fd2-a9d3-ebd377e02518', 'message/rfc822', NULL, 'perf-team-2026-12-01.eml', '2026-12-01 03:47:00+00', 'ready@example.org', '', 'the mail server answered 451 at RCPT TO: 4.3.0 try later', '2026-12-01 03:47:00+00', NULL, '', NULL, NULL),
	(12, 2, 'mailto:claimed@example.org', 0, 1, 'claimed', '2026-12-01 03:47:00+00', 0, 1, 'test', 1795968236.120013, 'bd7bf517-a4b2-54cb-b9f4-3a9539cf3212', NULL, NULL, '', NULL, '', '', '', '2026-12-01 03:47:00+00', NULL, '', NULL, NULL),
	(13, 2, 'mailto:sending@example.org', 0, 1, 'sending', '2026-12-01 03:47:00+00', 1, 1, 'test', 1795968236.254995, '402ab027-ade0-5692-93c7-4dc43c7651e3', 'message/rfc822', '\x446174653a205475652c2030312044656320323032362030333a34373a3030202b303030300d0a46726f6d3a2050657266207465616d203c646967657374406578616d706c652e6f72673e0d0a546f3a2073656e64696e67406578616d706c652e6f72670d0a5375626a6563743a2031206e65773a2041207061706572206f662074686520646179206f66207468652064656174680d0a4d6573736167652d49443a203c34303261623032372d616465302d353639322d393363372d346463343363373635316533406578616d706c652e6f72673e0d0a4175746f2d5375626d69747465643a206175746f2d67656e6572617465640d0a582d4175746f2d526573706f6e73652d53757070726573733a20416c6c0d0a4c6973742d49643a2050657266207465616d203c706572662d7465616d2e6578616d706c652e6f72673e0d0a4c6973742d556e7375627363726962653a203c68747470733a2f2f6c6f63616c686f73743a383030302f752f5070336f363559365f3769504b6f50436a71676953673e2c203c6d61696c746f3a646967657374406578616d706c652e6f72673f7375626a6563743d6c65617665253230706572662d7465616d3e0d0a4c6973742d556e7375627363726962652d506f73743a204c6973742d556e7375627363726962653d4f6e652d436c69636b0d0a4c6973742d48656c703a203c68747470733a2f2f6c6f63616c686f73743a383030303e0d0a4c6973742d417263686976653a203c68747470733a2f2f6c6f63616c686f73743a383030302f642f3873526e6b694d5654484832654d3073706e4d6752673e0d0a507265636564656e63653a2062756c6b0d0a466565646261636b2d49443a207363686564756c65643a6469676573743a6578616d706c656f72670d0a4d494d452d56657273696f6e3a20312e300d0a436f6e74656e742d547970653a206d756c7469706172742f616c7465726e61746976653b20626f756e646172793d223d5f34303261623032372d616465302d353639322d393363372d346463343363373635316533220d0a436f6e74656e742d4c616e67756167653a20656e0d0a0d0a2d2d3d5f34303261623032372d616465302d353639322d393363372d3464633433633736353165330d0a436f6e74656e742d5472616e736665722d456e636f64696e673a2071756f7465642d7072696e7461626c650d0a436f6e74656e742d547970653a20746578742f706c61696e3b20636861727365743d227574662d38223b20666f726d61743d22666c6f776564223b2064656c73703d226e6f220d0a0d0a50657266207465616d0d0a31206e6577203d43323d4237204d6f6e646179203330204e6f76656d62657220323032360d0a0d0a4e6f206469676573742063616d65206f6e203520646179732066726f6d20536174757264617920323120746f20467269646179203237204e6f76656d6265723a204469676573743d32300d0a646964206e6f742072756e2e0d0a0d0a4e4557202831290d0a0d0a312e2041207061706572206f662074686520646179206f66207468652064656174680d0a5765206d6561737572652c20616e64207265706f7274207768617420776520666f756e642e0d0a416461204578616d706c652c20426f2053616d706c65203d43323d42372063732e5046202b310d0a68747470733a2f2f61727869762e6f72672f6162732f323631312e313530303376310d0a68747470733a2f2f61727869762e6f72672f7064662f323631312e313530303376310d0a48544d4c3a2068747470733a2f2f61727869762e6f72672f68746d6c2f323631312e313530303376310d0a0d0a2d2d2d2d0d0a416c6c20706170657273206f66204d6f6e203330204e6f76207765726520636865636b65642e0d0a0d0a53617665642071756572793a0d0a70657266203d3344206361743a63732e50460d0a0d0a5265616420696e207468652062726f777365722c20776974682077686f6c65206162737472616374733a0d0a68747470733a2f2f6c6f63616c686f73743a383030302f642f3873526e6b694d5654484832654d3073706e4d6752670d0a0d0a507265666572656e6365733a0d0a68747470733a2f2f6c6f63616c686f73743a383030302f702f777a65684b547a383659523374486f744864593331670d0a0d0a556e7375627363726962653a0d0a68747470733a2f2f6c6f63616c686f73743a383030302f752f5070336f363559365f3769504b6f50436a71676953670d0a0d0a5468616e6b20796f7520746f20617258697620666f7220757365206f6620697473206f70656e2061636365737320696e7465726f7065726162696c6974792e20546869733d32300d0a7365727669636520776173206e6f74207265766965776564206f7220617070726f7665642062792c206e6f7220646f6573206974206e65636573736172696c7920657870726573733d32300d0a6f72207265666c6563742074686520706f6c6963696573206f72206f70696e696f6e73206f662c2061725869762e0d0a0d0a2d2d3d5f34303261623032372d616465302d353639322d393363372d3464633433633736353165330d0a436f6e74656e742d547970653a20746578742f68746d6c3b20636861727365743d227574662d38220d0a436f6e74656e742d5472616e736665722d456e636f64696e673a2071756f7465642d7072696e7461626c650d0a4d494d452d56657273696f6e3a20312e300d0a0d0a3c68746d6c3e3c686561643e3c2f686561643e3c626f64793e3c703e54686520706170657273206f6620746865206461793c2f703e3c2f626f64793e3c2f68746d6c3e0d0a0d0a2d2d3d5f34303261623032372d616465302d353639322d393363372d3464633433633736353165332d2d0d0a', 'perf-team-2026-12-01.eml', '2026-12-01 03:47:00+00', 'sending@example.org', '', '', '2026-12-01 03:47:00+00', NULL, '', NULL, NULL),
	(14, 2, 'mailto:sent@example.org', 0, 1, 'sent', '2026-12-01 03:47:00+00', 1, 1, 'test', NULL, '638f1d1e-da8f-5edf-8ae0-683a6e1ab441', 'message/rfc822', NULL, 'perf-team-2026-12-01.eml', '2026-12-01 03:47:00+00', 'sent@example.org', '', '', '2026-12-01 03:47:00+00', '2026-12-01 03:47:00+00', '', NULL, NULL),
	(15, 2, 'mailto:unknown@example.org', 0, 1, 'unknown', '2026-12-01 04:02:00+00', 1, 1, 'test', NULL, '016f6e82-941f-5e74-b22e-fd9a657c288d', 'message/rfc822', '\x446174653a205475652c2030312044656320323032362030333a34373a3030202b303030300d0a46726f6d3a2050657266207465616d203c646967657374406578616d706c652e6f72673e0d0a546f3a20756e6b6e6f776e406578616d706c652e6f72670d0a5375626a6563743a2031206e65773a2041207061706572206f662074686520646179206f66207468652064656174680d0a4d6573736167652d49443a203c30313666366538322d393431662d356537342d623232652d666439613635376332383864406578616d706c652e6f72673e0d0a4175746f2d5375626d69747465643a206175746f2d67656e6572617465640d0a582d4175746f2d526573706f6e73652d53757070726573733a20416c6c0d0a4c6973742d49643a2050657266207465616d203c706572662d7465616d2e6578616d706c652e6f72673e0d0a4c6973742d556e7375627363726962653a203c68747470733a2f2f6c6f63616c686f73743a383030302f752f3149796d654973654d544a7773367737414f6a336a413e2c203c6d61696c746f3a646967657374406578616d706c652e6f72673f7375626a6563743d6c65617665253230706572662d7465616d3e0d0a4c6973742d556e7375627363726962652d506f73743a204c6973742d556e7375627363726962653d4f6e652d436c69636b0d0a4c6973742d48656c703a203c68747470733a2f2f6c6f63616c686f73743a383030303e0d0a4c6973742d417263686976653a203c68747470733a2f2f6c6f63616c686f73743a383030302f642f3873526e6b694d5654484832654d3073706e4d6752673e0d0a507265636564656e63653a2062756c6b0d0a466565646261636b2d49443a207363686564756c65643a6469676573743a6578616d706c656f72670d0a4d494d452d56657273696f6e3a20312e300d0a436f6e74656e742d547970653a206d756c7469706172742f616c7465726e61746976653b20626f756e646172793d223d5f30313666366538322d393431662d356537342d623232652d666439613635376332383864220d0a436f6e74656e742d4c616e67756167653a20656e0d0a0d0a2d2d3d5f30313666366538322d393431662d356537342d623232652d6664396136353763323838640d0a436f6e74656e742d5472616e736665722d456e636f64696e673a2071756f7465642d7072696e7461626c650d0a436f6e74656e742d547970653a20746578742f706c61696e3b20636861727365743d227574662d38223b20666f726d61743d22666c6f776564223b2064656c73703d226e6f220d0a0d0a50657266207465616d0d0a31206e6577203d43323d4237204d6f6e646179203330204e6f76656d62657220323032360d0a0d0a4e6f206469676573742063616d65206f6e203520646179732066726f6d20536174757264617920323120746f20467269646179203237204e6f76656d6265723a204469676573743d32300d0a646964206e6f742072756e2e0d0a0d0a4e4557202831290d0a0d0a312e2041207061706572206f662074686520646179206f66207468652064656174680d0a5765206d6561737572652c20616e64207265706f7274207768617420776520666f756e642e0d0a416461204578616d706c652c20426f2053616d706c65203d43323d42372063732e5046202b310d0a68747470733a2f2f61727869762e6f72672f6162732f323631312e313530303376310d0a68747470733a2f2f61727869762e6f72672f7064662f323631312e313530303376310d0a48544d4c3a2068747470733a2f2f61727869762e6f72672f68746d6c2f323631312e313530303376310d0a0d0a2d2d2d2d0d0a416c6c20706170657273206f66204d6f6e203330204e6f76207765726520636865636b65642e0d0a0d0a53617665642071756572793a0d0a70657266203d3344206361743a63732e50460d0a0d0a5265616420696e207468652062726f777365722c20776974682077686f6c65206162737472616374733a0d0a68747470733a2f2f6c6f63616c686f73743a383030302f642f3873526e6b694d5654484832654d3073706e4d6752670d0a0d0a507265666572656e6365733a0d0a68747470733a2f2f6c6f63616c686f73743a383030302f702f5a6d7152615f776633794d484d37486c2d6d794266670d0a0d0a556e7375627363726962653a0d0a68747470733a2f2f6c6f63616c686f73743a383030302f752f3149796d654973654d544a7773367737414f6a336a410d0a0d0a5468616e6b20796f7520746f20617258697620666f7220757365206f6620697473206f70656e2061636365737320696e7465726f7065726162696c6974792e20546869733d32300d0a7365727669636520776173206e6f74207265766965776564206f7220617070726f7665642062792c206e6f7220646f6573206974206e65636573736172696c7920657870726573733d32300d0a6f72207265666c6563742074686520706f6c6963696573206f72206f70696e696f6e73206f662c2061725869762e0d0a0d0a2d2d3d5f30313666366538322d393431662d356537342d623232652d6664396136353763323838640d0a436f6e74656e742d547970653a20746578742f68746d6c3b20636861727365743d227574662d38220d0a436f6e74656e742d5472616e736665722d456e636f64696e673a2071756f7465642d7072696e7461626c650d0a4d494d452d56657273696f6e3a20312e300d0a0d0a3c68746d6c3e3c686561643e3c2f686561643e3c626f64793e3c703e54686520706170657273206f6620746865206461793c2f703e3c2f626f64793e3c2f68746d6c3e0d0a0d0a2d2d3d5f30313666366538322d393431662d356537342d623232652d6664396136353763323838642d2d0d0a', 'perf-team-2026-12-01.eml', '2026-12-01 03:47:00+00', 'unknown@example.org', '', 'the connection broke after the final dot, before the mail server answered: Connection unexpectedly closed. The server may have taken the mail. Search its log for the Message-ID', '2026-12-01 03:47:00+00', NULL, '', NULL, NULL),
	(16, 2, 'mailto:held@example.org', 0, 1, 'held', '2026-12-01 09:37:00+00', 1, 1, 'test', NULL, '615776fa-d080-5212-a2af-2005846e0d1d', 'message/rfc822', NULL, 'perf-team-2026-12-01.eml', '2026-12-01 03:47:00+00', 'held@example.org', '', 'the mail server answered 554 at RCPT TO: 5.7.1 sender rejected. The server''s policy refuses this machine, its sender or the mail, not the reader. Check `mail.from`, `mail.helo`, the sender''s domain (SPF, DKIM, DMARC) and block lists, or ask the server''s operator', '2026-12-01 03:47:00+00', NULL, '', 'place', '2026-12-01 03:47:00+00'),
	(17, 2, 'mailto:dead@example.org', 0, 1, 'dead', '2026-12-01 03:47:00+00', 1, 1, 'test', NULL, '7a80d5ce-d1d0-57e1-a958-ed65ff651494', 'message/rfc822', NULL, 'perf-team-2026-12-01.eml', '2026-12-01 03:47:00+00', 'dead@example.org', '', 'the mail server answered 550 at RCPT TO: 5.1.1 no such user. Check the address, or take it out of the subscription', '2026-12-01 03:47:00+00', '2026-12-01 03:47:00+00', '', 'reader', NULL),
	(18, 2, 'mailto:suppressed@example.org', 0, 1, 'suppressed', '2026-12-01 03:47:00+00', 0, 1, 'test', NULL, '8579a2fe-b6d2-5489-8ee3-aeff6ff12d18', NULL, NULL, '', NULL, '', '', 'left (page)', '2026-12-01 03:47:00+00', '2026-12-01 03:47:00+00', '', NULL, NULL),
	(19, 2, 'slack:#papers', 0, 2, 'sending', '2026-12-01 03:47:00+00', 1, 1, 'test', 1795968236.3620152, 'ec29a437-672f-50f4-a845-dbc685c10a74', 'application/json', '\x7b226368616e6e656c223a2243303030504150455253222c2274657874223a2250657266207465616d2c204d6f6e203330204e6f763a2031206e65772e2041207061706572206f662074686520646179206f6620746865206465617468222c22626c6f636b73223a5b7b2274797065223a22686561646572222c2274657874223a7b2274797065223a22706c61696e5f74657874222c2274657874223a2250657266207465616d20c2b7204d6f6e203330204e6f7620c2b72031206e6577222c22656d6f6a69223a66616c73657d7d2c7b2274797065223a2273656374696f6e222c2274657874223a7b2274797065223a226d726b64776e222c2274657874223a224e6f206469676573742063616d65206f6e203520646179732066726f6d20536174757264617920323120746f20467269646179203237204e6f76656d6265723a2044696765737420646964206e6f742072756e2e222c22766572626174696d223a747275657d2c22657870616e64223a747275657d2c7b2274797065223a2273656374696f6e222c2274657874223a7b2274797065223a226d726b64776e222c2274657874223a22312e203c68747470733a2f2f61727869762e6f72672f6162732f323631312e313530303376317c41207061706572206f662074686520646179206f66207468652064656174683e20c2b7204578616d706c652026616d703b2053616d706c6520c2b7203c68747470733a2f2f61727869762e6f72672f7064662f323631312e313530303376317c5044463e222c22766572626174696d223a747275657d2c22657870616e64223a747275657d2c7b2274797065223a2273656374696f6e222c2274657874223a7b2274797065223a226d726b64776e222c2274657874223a224d6f7265206f6e206561636820706170657220697320696e20746865207468726561642e222c22766572626174696d223a747275657d2c22657870616e64223a747275657d2c7b2274797065223a22636f6e74657874222c22656c656d656e7473223a5b7b2274797065223a226d726b64776e222c2274657874223a22416c6c20706170657273206f66204d6f6e203330204e6f76207765726520636865636b65642e203c68747470733a2f2f6c6f63616c686f73743a383030302f642f3873526e6b694d5654484832654d3073706e4d6752677c5468652077686f6c652064696765737420696e207468652062726f777365723e20c2b7205468616e6b20796f7520746f20617258697620666f7220757365206f6620697473206f70656e2061636365737320696e7465726f7065726162696c6974792e222c22766572626174696d223a747275657d5d7d5d2c22756e6675726c5f6c696e6b73223a66616c73652c22756e6675726c5f6d65646961223a66616c73652c227061727365223a226e6f6e65222c226d65746164617461223a7b226576656e745f74797065223a226469676573745f706f73746564222c226576656e745f7061796c6f6164223a7b2264656c6976657279223a2265633239613433372d363732662d353066342d613834352d646263363835633130613734227d7d2c22636c69656e745f6d73675f6964223a2265633239613433372d363732662d353066342d613834352d646263363835633130613734227d', 'perf-team-2026-12-01.json', '2026-12-01 03:47:00+00', 'C000PAPERS', '', '', '2026-12-01 03:47:00+00', NULL, '0-0-1-title', NULL, NULL),
	(20, 2, 'slack:#papers', 1, 2, 'ready', '2026-12-01 03:47:00+00', 0, 0, '', NULL, '871efd2f-1297-5112-8981-183a99824068', NULL, NULL, '', NULL, '', '', '', '2026-12-01 03:47:00+00', NULL, '0-1-1-one sentence', NULL, NULL);
INSERT INTO public.destination_addresses VALUES
	('slack:#papers', 'C000PAPERS', '2026-11-20 03:47:06+00'),
	('slack:C000PAPERS', '', '2026-11-20 03:47:06+00');
INSERT INTO public.digests VALUES
	(1, 1, 'run:2', 'first digest', '2026-11-20 03:47:04+00', 'UTC', 'Perf team', '{"queries":[["perf","cat:cs.PF"]],"coverage":{"announcement":"2026-11-19","is_complete":true,"compared":3,"matched":null,"checked_at":"2026-11-20T03:47:00+00:00","source":"harvest","failure":"","new":0,"is_settled":false,"is_awaited":false,"since":null,"announcements":1,"total":0,"last_shown_at":null,"failing_since":null},"group_by":"kind","abstracts":"short","remark":"","is_nearest":false,"unchecked":[],"groups":[["Recent papers",3,"two sentences",false,[]]],"entries":[{"text":3,"change":3,"kind":"known","label":"","queries":["perf"],"reasons":[["perf","cat:cs.PF",[["categories",0,5,0]]]],"announced":"2026-11-19","before":null,"sequel":null,"near":""},{"text":2,"change":2,"kind":"known","label":"","queries":["perf"],"reasons":[["perf","cat:cs.PF",[["categories",0,5,0]]]],"announced":"2026-11-19","before":null,"sequel":null,"near":""},{"text":1,"change":1,"kind":"known","label":"","queries":["perf"],"reasons":[["perf","cat:cs.PF",[["categories",0,5,0]]]],"announced":"2026-11-19","before":null,"sequel":null,"near":""}]}', 3, 3),
	(2, 1, '2026-12-01', 'scheduled', '2026-12-01 03:47:00+00', 'UTC', 'Perf team', '{"queries":[["perf","cat:cs.PF"]],"coverage":{"announcement":"2026-11-30","is_complete":true,"compared":4,"matched":1,"checked_at":"2026-12-01T03:47:00+00:00","source":"harvest","failure":"","new":1,"is_settled":false,"is_awaited":false,"since":null,"announcements":1,"total":0,"last_shown_at":null,"failing_since":null},"group_by":"kind","abstracts":"short","remark":"","is_nearest":false,"unchecked":["2026-11-21T02:00:00+00:00 did-not-run","2026-11-24T02:00:00+00:00 did-not-run","2026-11-25T02:00:00+00:00 did-not-run","2026-11-26T02:00:00+00:00 did-not-run","2026-11-27T02:00:00+00:00 did-not-run"],"groups":[["New",1,"two sentences",false,[]]],"entries":[{"text":4,"change":4,"kind":"new","label":"","queries":["perf"],"reasons":[["perf","cat:cs.PF",[["categories",0,5,0]]]],"announced":"2026-11-30","before":null,"sequel":null,"near":""}]}', 1, 1);
INSERT INTO public.gate VALUES
	('arxiv', 'test', 3, 1796096820, 1796096824, 0, 0, '');
INSERT INTO public.installation VALUES
	(1, 'GLJe4blHUnOk8vWraxaNXXLtusmC3A4Mtcu5xBN3Kvw', '2026-11-29 16:02:55.334229+00', NULL);
INSERT INTO public.marks VALUES
	('changes', 4),
	('forgotten', 0),
	('matched', 4);
INSERT INTO public.match_runs VALUES
	(1, 0, 3, '2026-11-20 03:47:04+00', 'poll'),
	(2, 0, 3, '2026-11-20 03:47:04+00', 'first digest'),
	(3, 3, 4, '2026-12-01 03:47:00+00', 'poll');
INSERT INTO public.matches VALUES
	(2, 1, 'first digest', '\x010000000000000002000000000000000300000000000000', 3, 1, '2026-11-20 03:47:04+00', '\x010000000000000002000000000000000300000000000000'),
	(3, 1, 'scheduled', '\x0400000000000000', 1, 2, '2026-12-01 03:47:00+00', '\x0400000000000000');
INSERT INTO public.papers VALUES
	(1, '2611.15000', 202611, 15000, '', 1, '2026-11-20', '2026-11-20 03:47:00+00', NULL, true, NULL, NULL, NULL),
	(2, '2611.15001', 202611, 15001, '', 2, '2026-11-20', '2026-11-20 03:47:00+00', NULL, true, NULL, NULL, NULL),
	(3, '2611.15002', 202611, 15002, '', 3, '2026-11-20', '2026-11-20 03:47:00+00', NULL, true, NULL, NULL, NULL),
	(4, '2611.15003', 202611, 15003, '', 4, '2026-12-01', '2026-12-01 03:47:00+00', '2026-11-30', true, NULL, NULL, NULL);
INSERT INTO public.poll_runs VALUES
	(1, 'harvest', '', '2026-11-10', '2026-11-20 03:47:00+00', '2026-11-20 03:47:00+00', 'complete', 1, 3, NULL, 0, 0, '2611.15002', true, '', '', 1, 10, '', 'test'),
	(2, 'gaps', '', '2026-11-20', '2026-11-20 03:47:00+00', '2026-11-20 03:47:00+00', 'empty', 0, 0, NULL, 0, 0, '', false, '', '', 0, 0, '', 'test'),
	(3, 'first-digest', 'cat:cs.PF', '2026-11-13', '2026-11-20 03:47:00+00', '2026-11-20 03:47:04+00', 'complete', 1, 3, 3, 0, 0, '2611.15002', false, '', '', 1, 0, '', 'test'),
	(4, 'harvest', '', '2026-11-06', '2026-12-01 03:47:00+00', '2026-12-01 03:47:00+00', 'complete', 1, 4, NULL, 1, 0, '2611.15003', false, '', '', 1, 14, '', 'test'),
	(5, 'gaps', '', '2026-12-01', '2026-12-01 03:47:00+00', '2026-12-01 03:47:00+00', 'empty', 0, 0, NULL, 0, 0, '', false, '', '', 0, 0, '', 'test');
INSERT INTO public.query_matches VALUES
	(1, 1, '\x010000000000000002000000000000000300000000000000', '\x', '\x'),
	(3, 1, '\x0400000000000000', '\x', '\x');
INSERT INTO public.query_revisions VALUES
	(1, 1, 1, 'cat:cs.PF', 'cat:cs.PF', '', 0, '2026-11-20 03:47:00+00', NULL);
INSERT INTO public.requests VALUES
	(1, '2026-11-20 03:47:00+00', 'GET', 'http://127.0.0.1:39009/oai?verb=ListRecords&metadataPrefix=arXivRaw&from=2026-11-10', 200, 57, 1954, 'ok', ''),
	(2, '2026-11-20 03:47:04+00', 'GET', 'http://127.0.0.1:39009/api/query?start=0&max_results=50&search_query=cat%3Acs.PF&sortBy=lastUpdatedDate&sortOrder=descending', 200, 5, 1932, 'ok', ''),
	(3, '2026-12-01 03:47:00+00', 'GET', 'http://127.0.0.1:39009/oai?verb=ListRecords&metadataPrefix=arXivRaw&from=2026-11-06', 200, 6, 2517, 'ok', '');
INSERT INTO public.saved_queries VALUES
	(1, 'perf', 'file', 'active', '2026-11-20 03:47:00+00', NULL);
INSERT INTO public.subscribers VALUES
	(1, 'ready@example.org', 'confirmed', 'operator', '2026-11-20 03:47:00+00'),
	(2, 'claimed@example.org', 'confirmed', 'operator', '2026-11-20 03:47:00+00'),
	(3, 'sending@example.org', 'confirmed', 'operator', '2026-11-20 03:47:00+00'),
	(4, 'sent@example.org', 'confirmed', 'operator', '2026-11-20 03:47:00+00'),
	(5, 'unknown@example.org', 'confirmed', 'operator', '2026-11-20 03:47:00+00'),
	(6, 'held@example.org', 'confirmed', 'operator', '2026-11-20 03:47:00+00'),
	(7, 'dead@example.org', 'confirmed', 'operator', '2026-11-20 03:47:00+00'),
	(8, 'suppressed@example.org', 'confirmed', 'operator', '2026-11-20 03:47:00+00');
INSERT INTO public.subscription_destinations VALUES
	(1, 1, 'mailto:ready@example.org', 0, 'active', '', '2026-11-20 03:47:00+00', false, false),
	(2, 1, 'mailto:claimed@example.org', 1, 'active', '', '2026-11-20 03:47:00+00', false, false),
	(3, 1, 'mailto:sending@example.org', 2, 'active', '', '2026-11-20 03:47:00+00', false, false),
	(4, 1, 'mailto:sent@example.org', 3, 'active', '', '2026-11-20 03:47:00+00', false, false),
	(5, 1, 'mailto:unknown@example.org', 4, 'active', '', '2026-11-20 03:47:00+00', false, false),
	(6, 1, 'mailto:held@example.org', 5, 'active', '', '2026-11-20 03:47:00+00', false, false),
	(7, 1, 'mailto:dead@example.org', 6, 'active', '', '2026-11-20 03:47:00+00', false, false),
	(8, 1, 'mailto:suppressed@example.org', 7, 'unsubscribed', 'page', '2026-12-01 03:47:00+00', false, false),
	(9, 1, 'slack:#papers', 8, 'active', '', '2026-11-20 03:47:00+00', false, false),
	(10, 1, 'feed', 9, 'active', '', '2026-11-20 03:47:00+00', false, false);
INSERT INTO public.subscription_queries VALUES
	(1, 1, 0, 2, '2026-11-20 03:47:00+00');
INSERT INTO public.subscriptions VALUES
	(1, 'perf-team', 'Perf team', 'file', 'active', 'daily at 02:00 UTC', 'new cross-listed', 'skip', NULL, 'short', 7, '', '', '', '', '', '', '', 'kind', '2026-12-02 02:00:00+00', '2026-12-01', NULL, '', '2026-12-01 03:47:00+00', 0, NULL, 0, NULL, NULL, '2026-11-20 03:47:00+00', NULL);
INSERT INTO public.suppressions VALUES
	('mailto:suppressed@example.org', 'perf-team', 'page', '2026-12-01 03:47:00+00');
INSERT INTO public.tokens VALUES
	('084139362d7525427dc05202ac0a71c2edde6827bf1488ee8d17cf28681668e0', 'web', '', 'perf-team', 1, '2026-11-20 03:47:04+00'),
	('0b69767069e17aab5f7702cbe5ccec19eff00d037d0f1fcfc86c01575a0279ab', 'preferences', 'mailto:claimed@example.org', '', NULL, '2026-11-20 03:47:04+00'),
	('1defc4ce700c77751a67af368da6fc721b76bfcc1bedf6b89e81866d53d25161', 'archive', '', 'perf-team', NULL, '2026-11-20 03:47:04+00'),
	('2968e2b3434f0fdc93731ded34163576f75c9fc1053d7b18597ffcf745794ac2', 'preferences', 'mailto:suppressed@example.org', '', NULL, '2026-11-20 03:47:04+00'),
	('2a4014c1917190809320ccaa98776fbbdb9f404ee2c672d800cb0f0d504bfe00', 'web', '', 'perf-team', 2, '2026-12-01 03:47:00+00'),
	('2b863d04909e15aca4df19bf473ad203bbf03575f543d2d604d983df6d103b41', 'preferences', 'mailto:unknown@example.org', '', NULL, '2026-11-20 03:47:04+00'),
	('31aa57bf1a5b9c8e8ff6c7c58105f5e14cdf153103f8b541648b7507d3fdb3f4', 'unsubscribe', 'mailto:dead@example.org', 'perf-team', NULL, '2026-11-20 03:47:04+00'),
	('3c004c2370059a2bb142ac649d12baa0913505f237cbf80d183aefd4a44bee38', 'unsubscribe', 'mailto:claimed@example.org', 'perf-team', NULL, '2026-11-20 03:47:04+00'),
	('603fc5fd2715c2a143f940a9fafa3451d76477e1de44aca8d9c657d3cfef3992', 'unsubscribe', 'mailto:sending@example.org', 'perf-team', NULL, '2026-11-20 03:47:04+00'),
	('80174d9d0ea375038ebb93a82e06d54ff554c0a42785af0f5ada84f6500272ad', 'unsubscribe', 'mailto:held@example.org', 'perf-team', NULL, '2026-11-20 03:47:04+00'),
	('8df6579113f5ab2847860f680eebc5d014807ca4bcef0333056f4c085aae7eaf', 'preferences', 'mailto:sent@example.org', '', NULL, '2026-11-20 03:47:04+00'),
	('8e5b8514f9f213a2a18b4d098a512a81c00829ec8d223e7f265dc1cebbb0ada6', 'unsubscribe', 'mailto:unknown@example.org', 'perf-team', NULL, '2026-11-20 03:47:04+00'),
	('bdb2e03a7ee05f6698df3fe527f39c297cf4f5b77191234700c6bfabc28b023f', 'preferences', 'mailto:dead@example.org', '', NULL, '2026-11-20 03:47:04+00'),
	('c92a527958797f827931e503189f1b77b077b49eaf0a0c57241d9844f0c026fb', 'unsubscribe', 'mailto:ready@example.org', 'perf-team', NULL, '2026-11-20 03:47:04+00'),
	('d0f229310013dbffd32c768f9fa23da13953ecb0c04e762e43e95db722008929', 'preferences', 'mailto:sending@example.org', '', NULL, '2026-11-20 03:47:04+00'),
	('f011fe56c43d4bb5ae7648277be5c74a39299002c10d4e8886a69b3272c0671c', 'unsubscribe', 'mailto:sent@example.org', 'perf-team', NULL, '2026-11-20 03:47:04+00'),
	('f67073d93f5a0de9aacf866295bd211ee74fffae63b271aab51f1c64e5cc7441', 'preferences', 'mailto:held@example.org', '', NULL, '2026-11-20 03:47:04+00'),
	('f6ab8c403f31b072c37ef0b077fe8e9f0c8aae6ed686d8e6306b3929390d2cf5', 'preferences', 'mailto:ready@example.org', '', NULL, '2026-11-20 03:47:04+00'),
	('ff4cae738dc22075033be78f7dfbe434e54cec43b5e33d47f699657c3a8be5ec', 'unsubscribe', 'mailto:suppressed@example.org', 'perf-team', NULL, '2026-11-20 03:47:04+00');
INSERT INTO public.versions VALUES
	(1, 1, 1, '40122611aef1592c6c9bfc34b8e98c50ae1a61ad9696b16e92d385149854aa2a', 'Tail latency on shared GPUs', 'We measure, and report what we found.', '[["Ada Example"], ["Bo Sample"]]', 'cs.PF cs.DC', '', '', '[]', '', 'http://creativecommons.org/licenses/by/4.0/', '2026-11-19 09:00:00+00', '2026-11-19 09:00:00+00', false),
	(2, 2, 1, '0cba1ec3bb6578a22a51e96a315b6e474a7207d79ba6a0288578f8dbb99d5e10', 'Queues that never drain', 'We measure, and report what we found.', '[["Ada Example"], ["Bo Sample"]]', 'cs.PF cs.DC', '', '', '[]', '', 'http://creativecommons.org/licenses/by/4.0/', '2026-11-19 09:01:00+00', '2026-11-19 09:01:00+00', false),
	(3, 3, 1, '2229c729a953cea7fc95a41aee375ba32cb85ad518bb684027bffa27c5478e02', 'Clocks & caches', 'We measure, and report what we found.', '[["Ada Example"], ["Bo Sample"]]', 'cs.PF cs.DC', '', '', '[]', '', 'http://creativecommons.org/licenses/by/4.0/', '2026-11-19 09:02:00+00', '2026-11-19 09:02:00+00', false),
	(4, 4, 1, '45d4631950d3337339a4cb45ee71cc2ef6b5b1632ea04bf1af55d8ba9d7741f0', 'A paper of the day of the death', 'We measure, and report what we found.', '[["Ada Example"], ["Bo Sample"]]', 'cs.PF cs.DC', '', '', '[]', '', 'http://creativecommons.org/licenses/by/4.0/', '2026-11-30 12:00:00+00', '2026-11-30 12:00:00+00', false);
SELECT pg_catalog.setval('public.consents_id_seq', 9, true);
SELECT pg_catalog.setval('public.deliveries_id_seq', 20, true);
SELECT pg_catalog.setval('public.digests_id_seq', 2, true);
SELECT pg_catalog.setval('public.libraries_id_seq', 1, false);
SELECT pg_catalog.setval('public.match_runs_id_seq', 3, true);
SELECT pg_catalog.setval('public.papers_id_seq', 4, true);
SELECT pg_catalog.setval('public.poll_runs_id_seq', 5, true);
SELECT pg_catalog.setval('public.quarantine_id_seq', 1, false);
SELECT pg_catalog.setval('public.query_revisions_id_seq', 1, true);
SELECT pg_catalog.setval('public.requests_id_seq', 3, true);
SELECT pg_catalog.setval('public.saved_queries_id_seq', 1, true);
SELECT pg_catalog.setval('public.signups_id_seq', 1, false);
SELECT pg_catalog.setval('public.subscribers_id_seq', 8, true);
SELECT pg_catalog.setval('public.subscription_destinations_id_seq', 10, true);
SELECT pg_catalog.setval('public.subscriptions_id_seq', 1, true);
SELECT pg_catalog.setval('public.versions_id_seq', 4, true);
SELECT pg_catalog.setval('public.word_counts_id_seq', 1, false);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.alarms
    ADD CONSTRAINT pk_alarms PRIMARY KEY (name);
ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT pk_attempts PRIMARY KEY (delivery_id, number);
ALTER TABLE ONLY public.changes
    ADD CONSTRAINT pk_changes PRIMARY KEY (id);
ALTER TABLE ONLY public.consents
    ADD CONSTRAINT pk_consents PRIMARY KEY (id);
ALTER TABLE ONLY public.cursors
    ADD CONSTRAINT pk_cursors PRIMARY KEY (source, query_key);
ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT pk_deliveries PRIMARY KEY (id);
ALTER TABLE ONLY public.destination_addresses
    ADD CONSTRAINT pk_destination_addresses PRIMARY KEY (destination);
ALTER TABLE ONLY public.digests
    ADD CONSTRAINT pk_digests PRIMARY KEY (id);
ALTER TABLE ONLY public.forgotten
    ADD CONSTRAINT pk_forgotten PRIMARY KEY (archive, month);
ALTER TABLE ONLY public.forgotten_days
    ADD CONSTRAINT pk_forgotten_days PRIMARY KEY (announcement);
ALTER TABLE ONLY public.gaps
    ADD CONSTRAINT pk_gaps PRIMARY KEY (month, number);
ALTER TABLE ONLY public.gate
    ADD CONSTRAINT pk_gate PRIMARY KEY (name);
ALTER TABLE ONLY public.installation
    ADD CONSTRAINT pk_installation PRIMARY KEY (id);
ALTER TABLE ONLY public.job_turns
    ADD CONSTRAINT pk_job_turns PRIMARY KEY (owner, job);
ALTER TABLE ONLY public.libraries
    ADD CONSTRAINT pk_libraries PRIMARY KEY (id);
ALTER TABLE ONLY public.library_papers
    ADD CONSTRAINT pk_library_papers PRIMARY KEY (library_id, "position");
ALTER TABLE ONLY public.marks
    ADD CONSTRAINT pk_marks PRIMARY KEY (name);
ALTER TABLE ONLY public.match_runs
    ADD CONSTRAINT pk_match_runs PRIMARY KEY (id);
ALTER TABLE ONLY public.matches
    ADD CONSTRAINT pk_matches PRIMARY KEY (match_run_id, subscription_id);
ALTER TABLE ONLY public.near_days
    ADD CONSTRAINT pk_near_days PRIMARY KEY (announced_on, subscription_id);
ALTER TABLE ONLY public.papers
    ADD CONSTRAINT pk_papers PRIMARY KEY (id);
ALTER TABLE ONLY public.poll_runs
    ADD CONSTRAINT pk_poll_runs PRIMARY KEY (id);
ALTER TABLE ONLY public.quarantine
    ADD CONSTRAINT pk_quarantine PRIMARY KEY (id);
ALTER TABLE ONLY public.query_matches
    ADD CONSTRAINT pk_query_matches PRIMARY KEY (match_run_id, revision_id);
ALTER TABLE ONLY public.query_revisions
    ADD CONSTRAINT pk_query_revisions PRIMARY KEY (id);
ALTER TABLE ONLY public.request_counts
    ADD CONSTRAINT pk_request_counts PRIMARY KEY (name, hour);
ALTER TABLE ONLY public.requests
    ADD CONSTRAINT pk_requests PRIMARY KEY (id);
ALTER TABLE ONLY public.saved_queries
    ADD CONSTRAINT pk_saved_queries PRIMARY KEY (id);
ALTER TABLE ONLY public.signups
    ADD CONSTRAINT pk_signups PRIMARY KEY (id);
ALTER TABLE ONLY public.subscribers
    ADD CONSTRAINT pk_subscribers PRIMARY KEY (id);
ALTER TABLE ONLY public.subscription_destinations
    ADD CONSTRAINT pk_subscription_destinations PRIMARY KEY (id);
ALTER TABLE ONLY public.subscription_queries
    ADD CONSTRAINT pk_subscription_queries PRIMARY KEY (subscription_id, query_id);
ALTER TABLE ONLY public.subscriptions
    ADD CONSTRAINT pk_subscriptions PRIMARY KEY (id);
ALTER TABLE ONLY public.suppressions
    ADD CONSTRAINT pk_suppressions PRIMARY KEY (destination, subscription);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT pk_tokens PRIMARY KEY (hash);
ALTER TABLE ONLY public.versions
    ADD CONSTRAINT pk_versions PRIMARY KEY (id);
ALTER TABLE ONLY public.word_counts
    ADD CONSTRAINT pk_word_counts PRIMARY KEY (id);
ALTER TABLE ONLY public.workers
    ADD CONSTRAINT pk_workers PRIMARY KEY (owner);
ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT uq_deliveries_digest_id_destination_part UNIQUE (digest_id, destination, part);
ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT uq_deliveries_idempotency_key UNIQUE (idempotency_key);
ALTER TABLE ONLY public.digests
    ADD CONSTRAINT uq_digests_subscription_id_slot UNIQUE (subscription_id, slot);
ALTER TABLE ONLY public.libraries
    ADD CONSTRAINT uq_libraries_source UNIQUE (source);
ALTER TABLE ONLY public.papers
    ADD CONSTRAINT uq_papers_arxiv_id UNIQUE (arxiv_id);
ALTER TABLE ONLY public.quarantine
    ADD CONSTRAINT uq_quarantine_name UNIQUE (name);
ALTER TABLE ONLY public.query_revisions
    ADD CONSTRAINT uq_query_revisions_query_id_number UNIQUE (query_id, number);
ALTER TABLE ONLY public.saved_queries
    ADD CONSTRAINT uq_saved_queries_origin_name UNIQUE (origin, name);
ALTER TABLE ONLY public.subscribers
    ADD CONSTRAINT uq_subscribers_address UNIQUE (address);
ALTER TABLE ONLY public.subscription_destinations
    ADD CONSTRAINT uq_subscription_destinations_subscription_id_destination UNIQUE (subscription_id, destination);
ALTER TABLE ONLY public.subscriptions
    ADD CONSTRAINT uq_subscriptions_name UNIQUE (name);
ALTER TABLE ONLY public.versions
    ADD CONSTRAINT uq_versions_paper_id_version_content_hash UNIQUE (paper_id, version, content_hash);
CREATE INDEX ix_changes_paper_id_id ON public.changes USING btree (paper_id, id);
CREATE INDEX ix_changes_previous_version_id ON public.changes USING btree (previous_version_id);
CREATE INDEX ix_changes_run_id ON public.changes USING btree (run_id);
CREATE INDEX ix_changes_version_id ON public.changes USING btree (version_id);
CREATE INDEX ix_consents_subscriber_id ON public.consents USING btree (subscriber_id);
CREATE INDEX ix_deliveries_active ON public.deliveries USING btree (state, not_before, id) WHERE (state = ANY (ARRAY['ready'::text, 'claimed'::text, 'sending'::text, 'unknown'::text]));
CREATE INDEX ix_deliveries_destination ON public.deliveries USING btree (destination);
CREATE INDEX ix_deliveries_ended_at ON public.deliveries USING btree (ended_at);
CREATE INDEX ix_deliveries_kept_bytes ON public.deliveries USING btree (ended_at) WHERE (body IS NOT NULL);
CREATE INDEX ix_deliveries_refused ON public.deliveries USING btree (refusal, destination, id) WHERE ((refusal = ANY (ARRAY['place'::text, 'account'::text])) AND (state = ANY (ARRAY['held'::text, 'ready'::text, 'claimed'::text, 'sending'::text, 'unknown'::text])));
CREATE INDEX ix_deliveries_refused_account ON public.deliveries USING btree (id) WHERE ((refusal = 'account'::text) AND (state = ANY (ARRAY['held'::text, 'ready'::text, 'claimed'::text, 'sending'::text, 'unknown'::text])));
CREATE INDEX ix_deliveries_stuck ON public.deliveries USING btree (state, ended_at) WHERE (state = ANY (ARRAY['held'::text, 'dead'::text]));
CREATE INDEX ix_gaps_state ON public.gaps USING btree (state);
CREATE INDEX ix_matches_first_digests ON public.matches USING btree (subscription_id) WHERE ((digest_id IS NULL) AND (occasion = 'first digest'::text));
CREATE INDEX ix_matches_subscription_id_digest_id ON public.matches USING btree (subscription_id, digest_id);
CREATE INDEX ix_papers_announcement ON public.papers USING btree (announcement);
CREATE INDEX ix_papers_month_number ON public.papers USING btree (month, number);
CREATE INDEX ix_poll_runs_outcome ON public.poll_runs USING btree (outcome);
CREATE INDEX ix_poll_runs_source_query_key_id ON public.poll_runs USING btree (source, query_key, id);
CREATE INDEX ix_quarantine_run_id ON public.quarantine USING btree (run_id);
CREATE INDEX ix_query_matches_revision_id ON public.query_matches USING btree (revision_id);
CREATE INDEX ix_query_revisions_canonical ON public.query_revisions USING btree (canonical);
CREATE INDEX ix_requests_at ON public.requests USING btree (at);
CREATE INDEX ix_signups_address ON public.signups USING btree (address);
CREATE INDEX ix_signups_asked_at ON public.signups USING btree (asked_at);
CREATE INDEX ix_signups_token ON public.signups USING btree (token);
CREATE INDEX ix_subscription_destinations_destination ON public.subscription_destinations USING btree (destination);
CREATE INDEX ix_subscription_queries_first_digest ON public.subscription_queries USING btree (subscription_id) WHERE (first_digest_run_id IS NULL);
CREATE INDEX ix_subscription_queries_query_id ON public.subscription_queries USING btree (query_id);
CREATE INDEX ix_subscriptions_next_due_at ON public.subscriptions USING btree (next_due_at);
CREATE INDEX ix_subscriptions_open ON public.subscriptions USING btree (awaits_after) WHERE (awaits_after IS NOT NULL);
CREATE INDEX ix_subscriptions_paused ON public.subscriptions USING btree (paused_until) WHERE (state = 'paused'::text);
CREATE INDEX ix_subscriptions_subscriber_id ON public.subscriptions USING btree (subscriber_id);
ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT fk_attempts_delivery_id FOREIGN KEY (delivery_id) REFERENCES public.deliveries(id);
ALTER TABLE ONLY public.changes
    ADD CONSTRAINT fk_changes_paper_id FOREIGN KEY (paper_id) REFERENCES public.papers(id);
ALTER TABLE ONLY public.changes
    ADD CONSTRAINT fk_changes_previous_version_id FOREIGN KEY (previous_version_id) REFERENCES public.versions(id);
ALTER TABLE ONLY public.changes
    ADD CONSTRAINT fk_changes_version_id FOREIGN KEY (version_id) REFERENCES public.versions(id);
ALTER TABLE ONLY public.consents
    ADD CONSTRAINT fk_consents_subscriber_id FOREIGN KEY (subscriber_id) REFERENCES public.subscribers(id);
ALTER TABLE ONLY public.deliveries
    ADD CONSTRAINT fk_deliveries_digest_id FOREIGN KEY (digest_id) REFERENCES public.digests(id);
ALTER TABLE ONLY public.digests
    ADD CONSTRAINT fk_digests_subscription_id FOREIGN KEY (subscription_id) REFERENCES public.subscriptions(id);
ALTER TABLE ONLY public.library_papers
    ADD CONSTRAINT fk_library_papers_library_id FOREIGN KEY (library_id) REFERENCES public.libraries(id);
ALTER TABLE ONLY public.matches
    ADD CONSTRAINT fk_matches_digest_id FOREIGN KEY (digest_id) REFERENCES public.digests(id);
ALTER TABLE ONLY public.matches
    ADD CONSTRAINT fk_matches_match_run_id FOREIGN KEY (match_run_id) REFERENCES public.match_runs(id);
ALTER TABLE ONLY public.matches
    ADD CONSTRAINT fk_matches_subscription_id FOREIGN KEY (subscription_id) REFERENCES public.subscriptions(id);
ALTER TABLE ONLY public.near_days
    ADD CONSTRAINT fk_near_days_subscription_id FOREIGN KEY (subscription_id) REFERENCES public.subscriptions(id);
ALTER TABLE ONLY public.quarantine
    ADD CONSTRAINT fk_quarantine_run_id FOREIGN KEY (run_id) REFERENCES public.poll_runs(id);
ALTER TABLE ONLY public.query_matches
    ADD CONSTRAINT fk_query_matches_match_run_id FOREIGN KEY (match_run_id) REFERENCES public.match_runs(id);
ALTER TABLE ONLY public.query_matches
    ADD CONSTRAINT fk_query_matches_revision_id FOREIGN KEY (revision_id) REFERENCES public.query_revisions(id);
ALTER TABLE ONLY public.query_revisions
    ADD CONSTRAINT fk_query_revisions_query_id FOREIGN KEY (query_id) REFERENCES public.saved_queries(id);
ALTER TABLE ONLY public.subscription_destinations
    ADD CONSTRAINT fk_subscription_destinations_subscription_id FOREIGN KEY (subscription_id) REFERENCES public.subscriptions(id);
ALTER TABLE ONLY public.subscription_queries
    ADD CONSTRAINT fk_subscription_queries_query_id FOREIGN KEY (query_id) REFERENCES public.saved_queries(id);
ALTER TABLE ONLY public.subscription_queries
    ADD CONSTRAINT fk_subscription_queries_subscription_id FOREIGN KEY (subscription_id) REFERENCES public.subscriptions(id);
ALTER TABLE ONLY public.subscriptions
    ADD CONSTRAINT fk_subscriptions_subscriber_id FOREIGN KEY (subscriber_id) REFERENCES public.subscribers(id);
ALTER TABLE ONLY public.versions
    ADD CONSTRAINT fk_versions_paper_id FOREIGN KEY (paper_id) REFERENCES public.papers(id);
