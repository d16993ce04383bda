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
    share text NOT NULL
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
	('0002');
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
	(1, 1, 'mailto:ready@example.org', 0, 1, 'sent', '2026-11-20 03:47:04+00', 1, 1, 'test', NULL, 'b7239a93-6453-524a-b030-45588e264270', NULL, NULL, 'perf-team-run-2.eml', '2026-11-20 03:47:04+00', 'ready@example.org', '', '', '2026-11-20 03:47:04+00', '2026-11-20 03:47:05+00', ''),
	(2, 1, 'mailto:claimed@example.org', 0, 1, 'sent', '2026-11-20 03:47:04+00', 1, 1, 'test', NULL, 'fcb76a9f-d00a-5980-b405-86196251b9e0', NULL, NULL, 'perf-team-run-2.eml', '2026-11-20 03:47:05+00', 'claimed@example.org', '', '', '2026-11-20 03:47:04+00', '2026-11-20 03:47:05+00', ''),
	(3, 1, 'mailto:sending@example.org', 0, 1, 'sent', '2026-11-20 03:47:04+00', 1, 1, 'test', NULL, '5d0db571-222c-5425-acdc-35ebb12e351d', NULL, NULL, 'perf-team-run-2.eml', '2026-11-20 03:47:05+00', 'sending@example.org', '', '', '2026-11-20 03:47:04+00', '2026-11-20 03:47:05+00', ''),
	(4, 1, 'mailto:sent@example.org', 0, 1, 'sent', '2026-11-20 03:47:04+00', 1, 1, 'test', NULL, '955fce22-6994-5d92-af22-527f209bc408', NULL, NULL, 'perf-team-run-2.eml', '2026-11-20 03:47:05+00', 'sent@example.org', '', '', '2026-11-20 03:47:04+00', '2026-11-20 03:47:05+00', ''),
	(5, 1, 'mailto:unknown@example.org', 0, 1, 'sent', '2026-11-20 03:47:04+00', 1, 1, 'test', NULL, '8b0fc95c-4602-5adc-8425-bbd32d29f332', NULL, NULL, 'perf-team-run-2.eml', '2026-11-20 03:47:05+00', 'unknown@example.org', '', '', '2026-11-20 03:47:04+00', '2026-11-20 03:47:05+00', ''),
	(6, 1, 'mailto:held@example.org', 0, 1, 'sent', '2026-11-20 03:47:04+00', 1, 1, 'test', NULL, '9b7ab3e8-a53e-55a2-8d43-d70e51d352be', NULL, NULL, 'perf-team-run-2.eml', '2026-11-20 03:47:05+00', 'held@example.org', '', '', '2026-11-20 03:47:04+00', '2026-11-20 03:47:05+00', ''),
	(7, 1, 'mailto:dead@example.org', 0, 1, 'sent', '2026-11-20 03:47:04+00', 1, 1, 'test', NULL, '08b4ca14-9aa0-5aed-8c57-9141d3e93ee0', NULL, NULL, 'perf-team-run-2.eml', '2026-11-20 03:47:05+00', 'dead@example.org', '', '', '2026-11-20 03:47:04+00', '2026-11-20 03:47:05+00', ''),
	(8, 1, 'mailto:suppressed@example.org', 0, 1, 'sent', '2026-11-20 03:47:04+00', 1, 1, 'test', NULL, 'c9c77948-74b9-5951-b002-2fc68ff00692', NULL, NULL, 'perf-team-run-2.eml', '2026-11-20 03:47:05+00', 'suppressed@example.org', '', '', '2026-11-20 03:47:04+00', '2026-11-20 03:47:05+00', ''),
	(9, 1, 'slack:#papers', 0, 2, 'sent', '2026-11-20 03:47:04+00', 1, 1, 'test', NULL, '6a36e319-12c2-5e91-b662-6f2a9c53b423', NULL, NULL, 'perf-team-run-2.json', '2026-11-20 03:47:04+00', 'C000PAPERS', '1795146424.000000', '', '2026-11-20 03:47:04+00', '2026-11-20 03:47:04+00', '0-0-3-title'),
	(10, 1, 'slack:#papers', 1, 2, 'sent', '2026-11-20 03:47:04+00', 1, 1, 'test', NULL, '9f13a208-e559-5e59-b4e1-db3c24f0e912', NULL, NULL, 'perf-team-run-2-2.json', '2026-11-20 03:47:05+00', 'C000PAPERS', '1795146425.000000', '', '2026-11-20 03:47:04+00', '2026-11-20 03:47:05+00', '0-3-3-one sentence'),
	(11, 2, 'mailto:ready@example.org', 0, 1, 'ready', '2026-12-01 03:47:45+00', 1, 1, 'test', NULL, '94ce95a4-76fa-59a5-83ac-378e7fe901ff', 'message/rfc822', NULL, 'perf-team-2026-12-01.eml', '2026-12-01 03:47:00+00', 'ready@example.org', '', 'the mail server answered 451 at RCPT TO: 4.3.0 try later', '2026-12-01 03:47:00+00', NULL, ''),
	(12, 2, 'mailto:claimed@example.org', 0, 1, 'claimed', '2026-12-01 03:47:00+00', 0, 1, 'test', 1795944020.4029999, '7841048b-5b9e-5686-9e4a-91f788232f36', NULL, NULL, '', NULL, '', '', '', '2026-12-01 03:47:00+00', NULL, ''),
	(13, 2, 'mailto:sending@example.org', 0, 1, 'sending', '2026-12-01 03:47:00+00', 1, 1, 'test', 1795944020.4320078, 'ce799bc4-8667-5a3e-9f0c-ab89195862c3', 'message/rfc822', '\x446174653a205475652c2030312044656320323032362030333a34373a3030202b303030300d0a46726f6d3a2050657266207465616d203c646967657374406578616d706c652e6f72673e0d0a546f3a2073656e64696e67406578616d706c652e6f72670d0a5375626a6563743a2031206e65773a2041207061706572206f662074686520646179206f66207468652064656174680d0a4d6573736167652d49443a203c63653739396263342d383636372d356133652d396630632d616238393139353836326333406578616d706c652e6f72673e0d0a4175746f2d5375626d69747465643a206175746f2d67656e6572617465640d0a582d4175746f2d526573706f6e73652d53757070726573733a20416c6c0d0a4c6973742d49643a2050657266207465616d203c706572662d7465616d2e6578616d706c652e6f72673e0d0a4c6973742d556e7375627363726962653a203c68747470733a2f2f6c6f63616c686f73743a383030302f752f386f6d636b575053675a554b41676673426a4f6f54413e2c203c6d61696c746f3a646967657374406578616d706c652e6f72673f7375626a6563743d6c65617665253230706572662d7465616d3e0d0a4c6973742d556e7375627363726962652d506f73743a204c6973742d556e7375627363726962653d4f6e652d436c69636b0d0a4c6973742d48656c703a203c68747470733a2f2f6c6f63616c686f73743a383030303e0d0a4c6973742d417263686976653a203c68747470733a2f2f6c6f63616c686f73743a383030302f642f5a647547585271536d787159446452676d4d6d7046413e0d0a507265636564656e63653a2062756c6b0d0a466565646261636b2d49443a207363686564756c65643a6469676573743a6578616d706c656f72670d0a4d494d452d56657273696f6e3a20312e300d0a436f6e74656e742d547970653a206d756c7469706172742f616c7465726e61746976653b20626f756e646172793d223d5f63653739396263342d383636372d356133652d396630632d616238393139353836326333220d0a436f6e74656e742d4c616e67756167653a20656e0d0a0d0a2d2d3d5f63653739396263342d383636372d356133652d396630632d6162383931393538363263330d0a436f6e74656e742d5472616e736665722d456e636f64696e673a2071756f7465642d7072696e7461626c650d0a436f6e74656e742d547970653a20746578742f706c61696e3b20636861727365743d227574662d38223b20666f726d61743d22666c6f776564223b2064656c73703d226e6f220d0a0d0a50657266207465616d0d0a31206e6577203d43323d42372054756573646179203120446563656d62657220323032360d0a0d0a4e4557202831290d0a0d0a312e2041207061706572206f662074686520646179206f66207468652064656174680d0a5765206d6561737572652c20616e64207265706f7274207768617420776520666f756e642e0d0a416461204578616d706c652c20426f2053616d706c65203d43323d42372063732e5046202b310d0a68747470733a2f2f61727869762e6f72672f6162732f323631312e313530303376310d0a68747470733a2f2f61727869762e6f72672f7064662f323631312e313530303376310d0a48544d4c3a2068747470733a2f2f61727869762e6f72672f68746d6c2f323631312e313530303376310d0a0d0a2d2d2d2d0d0a416c6c20706170657273206f66204d6f6e203330204e6f76207765726520636865636b65642e0d0a0d0a53617665642071756572793a0d0a70657266203d3344206361743a63732e50460d0a0d0a5265616420696e207468652062726f777365722c20776974682077686f6c65206162737472616374733a0d0a68747470733a2f2f6c6f63616c686f73743a383030302f642f5a647547585271536d787159446452676d4d6d7046410d0a0d0a507265666572656e6365733a0d0a68747470733a2f2f6c6f63616c686f73743a383030302f702f67356659526d5533412d305449674a723750777139770d0a0d0a556e7375627363726962653a0d0a68747470733a2f2f6c6f63616c686f73743a383030302f752f386f6d636b575053675a554b41676673426a4f6f54410d0a0d0a5468616e6b20796f7520746f20617258697620666f7220757365206f6620697473206f70656e2061636365737320696e7465726f7065726162696c6974792e20546869733d32300d0a7365727669636520776173206e6f74207265766965776564206f7220617070726f7665642062792c206e6f7220646f6573206974206e65636573736172696c7920657870726573733d32300d0a6f72207265666c6563742074686520706f6c6963696573206f72206f70696e696f6e73206f662c2061725869762e0d0a0d0a2d2d3d5f63653739396263342d383636372d356133652d396630632d6162383931393538363263330d0a436f6e74656e742d547970653a20746578742f68746d6c3b20636861727365743d227574662d38220d0a436f6e74656e742d5472616e736665722d456e636f64696e673a2071756f7465642d7072696e7461626c650d0a4d494d452d56657273696f6e3a20312e300d0a0d0a3c68746d6c3e3c686561643e3c2f686561643e3c626f64793e3c703e54686520706170657273206f6620746865206461793c2f703e3c2f626f64793e3c2f68746d6c3e0d0a0d0a2d2d3d5f63653739396263342d383636372d356133652d396630632d6162383931393538363263332d2d0d0a', 'perf-team-2026-12-01.eml', '2026-12-01 03:47:00+00', 'sending@example.org', '', '', '2026-12-01 03:47:00+00', NULL, ''),
	(14, 2, 'mailto:sent@example.org', 0, 1, 'sent', '2026-12-01 03:47:00+00', 1, 1, 'test', NULL, '49a7fe7b-7e9f-5d30-9ad2-90a50f4b40e7', 'message/rfc822', NULL, 'perf-team-2026-12-01.eml', '2026-12-01 03:47:00+00', 'sent@example.org', '', '', '2026-12-01 03:47:00+00', '2026-12-01 03:47:00+00', ''),
	(15, 2, 'mailto:unknown@example.org', 0, 1, 'unknown', '2026-12-01 04:02:00+00', 1, 1, 'test', NULL, 'eb97a705-e1e7-5911-8433-cead718b8f8a', 'message/rfc822', '\x446174653a205475652c2030312044656320323032362030333a34373a3030202b303030300d0a46726f6d3a2050657266207465616d203c646967657374406578616d706c652e6f72673e0d0a546f3a20756e6b6e6f776e406578616d706c652e6f72670d0a5375626a6563743a2031206e65773a2041207061706572206f662074686520646179206f66207468652064656174680d0a4d6573736167652d49443a203c65623937613730352d653165372d353931312d383433332d636561643731386238663861406578616d706c652e6f72673e0d0a4175746f2d5375626d69747465643a206175746f2d67656e6572617465640d0a582d4175746f2d526573706f6e73652d53757070726573733a20416c6c0d0a4c6973742d49643a2050657266207465616d203c706572662d7465616d2e6578616d706c652e6f72673e0d0a4c6973742d556e7375627363726962653a203c68747470733a2f2f6c6f63616c686f73743a383030302f752f4b6b384c5032765f5143374b374b327a786a6f6352673e2c203c6d61696c746f3a646967657374406578616d706c652e6f72673f7375626a6563743d6c65617665253230706572662d7465616d3e0d0a4c6973742d556e7375627363726962652d506f73743a204c6973742d556e7375627363726962653d4f6e652d436c69636b0d0a4c6973742d48656c703a203c68747470733a2f2f6c6f63616c686f73743a383030303e0d0a4c6973742d417263686976653a203c68747470733a2f2f6c6f63616c686f73743a383030302f642f5a647547585271536d787159446452676d4d6d7046413e0d0a507265636564656e63653a2062756c6b0d0a466565646261636b2d49443a207363686564756c65643a6469676573743a6578616d706c656f72670d0a4d494d452d56657273696f6e3a20312e300d0a436f6e74656e742d547970653a206d756c7469706172742f616c7465726e61746976653b20626f756e646172793d223d5f65623937613730352d653165372d353931312d383433332d636561643731386238663861220d0a436f6e74656e742d4c616e67756167653a20656e0d0a0d0a2d2d3d5f65623937613730352d653165372d353931312d383433332d6365616437313862386638610d0a436f6e74656e742d5472616e736665722d456e636f64696e673a2071756f7465642d7072696e7461626c650d0a436f6e74656e742d547970653a20746578742f706c61696e3b20636861727365743d227574662d38223b20666f726d61743d22666c6f776564223b2064656c73703d226e6f220d0a0d0a50657266207465616d0d0a31206e6577203d43323d42372054756573646179203120446563656d62657220323032360d0a0d0a4e4557202831290d0a0d0a312e2041207061706572206f662074686520646179206f66207468652064656174680d0a5765206d6561737572652c20616e64207265706f7274207768617420776520666f756e642e0d0a416461204578616d706c652c20426f2053616d706c65203d43323d42372063732e5046202b310d0a68747470733a2f2f61727869762e6f72672f6162732f323631312e313530303376310d0a68747470733a2f2f61727869762e6f72672f7064662f323631312e313530303376310d0a48544d4c3a2068747470733a2f2f61727869762e6f72672f68746d6c2f323631312e313530303376310d0a0d0a2d2d2d2d0d0a416c6c20706170657273206f66204d6f6e203330204e6f76207765726520636865636b65642e0d0a0d0a53617665642071756572793a0d0a70657266203d3344206361743a63732e50460d0a0d0a5265616420696e207468652062726f777365722c20776974682077686f6c65206162737472616374733a0d0a68747470733a2f2f6c6f63616c686f73743a383030302f642f5a647547585271536d787159446452676d4d6d7046410d0a0d0a507265666572656e6365733a0d0a68747470733a2f2f6c6f63616c686f73743a383030302f702f6136455f774332426b48616b316546304967695a37510d0a0d0a556e7375627363726962653a0d0a68747470733a2f2f6c6f63616c686f73743a383030302f752f4b6b384c5032765f5143374b374b327a786a6f6352670d0a0d0a5468616e6b20796f7520746f20617258697620666f7220757365206f6620697473206f70656e2061636365737320696e7465726f7065726162696c6974792e20546869733d32300d0a7365727669636520776173206e6f74207265766965776564206f7220617070726f7665642062792c206e6f7220646f6573206974206e65636573736172696c7920657870726573733d32300d0a6f72207265666c6563742074686520706f6c6963696573206f72206f70696e696f6e73206f662c2061725869762e0d0a0d0a2d2d3d5f65623937613730352d653165372d353931312d383433332d6365616437313862386638610d0a436f6e74656e742d547970653a20746578742f68746d6c3b20636861727365743d227574662d38220d0a436f6e74656e742d5472616e736665722d456e636f64696e673a2071756f7465642d7072696e7461626c650d0a4d494d452d56657273696f6e3a20312e300d0a0d0a3c68746d6c3e3c686561643e3c2f686561643e3c626f64793e3c703e54686520706170657273206f6620746865206461793c2f703e3c2f626f64793e3c2f68746d6c3e0d0a0d0a2d2d3d5f65623937613730352d653165372d353931312d383433332d6365616437313862386638612d2d0d0a', 'perf-team-2026-12-01.eml', '2026-12-01 03:47:00+00', 'unknown@example.org', '', 'the connection broke after the final dot, before the mail server answered: Connection unexpectedly closed. The server may have taken the mail. Search its log for the Message-ID', '2026-12-01 03:47:00+00', NULL, ''),
	(16, 2, 'mailto:held@example.org', 0, 1, 'held', '2026-12-01 03:47:00+00', 1, 1, 'test', NULL, 'd70c835a-c33e-5d2c-9839-c97dc237947f', 'message/rfc822', NULL, 'perf-team-2026-12-01.eml', '2026-12-01 03:47:00+00', 'held@example.org', '', 'the mail server answered 554 at RCPT TO: 5.7.1 sender rejected. The server''s policy refuses this machine, its sender or the mail, not the reader. Check `mail.from`, `mail.helo`, the sender''s domain (SPF, DKIM, DMARC) and block lists, or ask the server''s operator', '2026-12-01 03:47:00+00', NULL, ''),
	(17, 2, 'mailto:dead@example.org', 0, 1, 'dead', '2026-12-01 03:47:00+00', 1, 1, 'test', NULL, 'c17802fe-36df-50ce-a5ad-9af5c5c0cedc', 'message/rfc822', NULL, 'perf-team-2026-12-01.eml', '2026-12-01 03:47:00+00', 'dead@example.org', '', 'the mail server answered 550 at RCPT TO: 5.1.1 no such user. Check the address, or take it out of the subscription', '2026-12-01 03:47:00+00', '2026-12-01 03:47:00+00', ''),
	(18, 2, 'mailto:suppressed@example.org', 0, 1, 'suppressed', '2026-12-01 03:47:00+00', 0, 1, 'test', NULL, '81c327c3-7360-57e4-b381-2d1a864ce839', NULL, NULL, '', NULL, '', '', 'left (page)', '2026-12-01 03:47:00+00', '2026-12-01 03:47:00+00', ''),
	(19, 2, 'slack:#papers', 0, 2, 'sending', '2026-12-01 03:47:00+00', 1, 1, 'test', 1795944020.5420053, '677b3bf4-7516-5102-9a89-3b88dfd2ccb4', 'application/json', '\x7b226368616e6e656c223a2243303030504150455253222c2274657874223a2250657266207465616d2c205475652031204465633a2031206e65772e2041207061706572206f662074686520646179206f6620746865206465617468222c22626c6f636b73223a5b7b2274797065223a22686561646572222c2274657874223a7b2274797065223a22706c61696e5f74657874222c2274657874223a2250657266207465616d20c2b72054756520312044656320c2b72031206e6577222c22656d6f6a69223a66616c73657d7d2c7b2274797065223a2273656374696f6e222c2274657874223a7b2274797065223a226d726b64776e222c2274657874223a22312e203c68747470733a2f2f61727869762e6f72672f6162732f323631312e313530303376317c41207061706572206f662074686520646179206f66207468652064656174683e20c2b7204578616d706c652026616d703b2053616d706c6520c2b7203c68747470733a2f2f61727869762e6f72672f7064662f323631312e313530303376317c5044463e222c22766572626174696d223a747275657d2c22657870616e64223a747275657d2c7b2274797065223a2273656374696f6e222c2274657874223a7b2274797065223a226d726b64776e222c2274657874223a224d6f7265206f6e206561636820706170657220697320696e20746865207468726561642e222c22766572626174696d223a747275657d2c22657870616e64223a747275657d2c7b2274797065223a22636f6e74657874222c22656c656d656e7473223a5b7b2274797065223a226d726b64776e222c2274657874223a22416c6c20706170657273206f66204d6f6e203330204e6f76207765726520636865636b65642e203c68747470733a2f2f6c6f63616c686f73743a383030302f642f5a647547585271536d787159446452676d4d6d7046417c5468652077686f6c652064696765737420696e207468652062726f777365723e20c2b7205468616e6b20796f7520746f20617258697620666f7220757365206f6620697473206f70656e2061636365737320696e7465726f7065726162696c6974792e222c22766572626174696d223a747275657d5d7d5d2c22756e6675726c5f6c696e6b73223a66616c73652c22756e6675726c5f6d65646961223a66616c73652c227061727365223a226e6f6e65222c226d65746164617461223a7b226576656e745f74797065223a226469676573745f706f73746564222c226576656e745f7061796c6f6164223a7b2264656c6976657279223a2236373762336266342d373531362d353130322d396138392d336238386466643263636234227d7d2c22636c69656e745f6d73675f6964223a2236373762336266342d373531362d353130322d396138392d336238386466643263636234227d', 'perf-team-2026-12-01.json', '2026-12-01 03:47:00+00', 'C000PAPERS', '', '', '2026-12-01 03:47:00+00', NULL, '0-0-1-title'),
	(20, 2, 'slack:#papers', 1, 2, 'ready', '2026-12-01 03:47:00+00', 0, 0, '', NULL, 'e5194ff6-6832-5f66-b396-959617752e8b', NULL, NULL, '', NULL, '', '', '', '2026-12-01 03:47:00+00', NULL, '0-1-1-one sentence');
INSERT INTO public.destination_addresses VALUES
	('slack:#papers', 'C000PAPERS', '2026-11-20 03:47:06+00'),
	('slack:C000PAPERS', '', '2026-11-20 03:47:06+00');
INSERT INTO public.digests VALUES
	(1, 1, 'run:2', 'first digest', '2026-11-20 03:47:04+00', 'UTC', 'Perf team', '{"queries":[["perf","cat:cs.PF"]],"coverage":{"announcement":"2026-11-19","is_complete":true,"compared":3,"matched":null,"checked_at":"2026-11-20T03:47:00+00:00","source":"harvest","failure":"","new":0,"is_settled":false,"is_awaited":false,"since":null,"announcements":1,"total":0,"last_shown_at":null,"failing_since":null},"group_by":"kind","abstracts":"short","remark":"","is_nearest":false,"groups":[["Recent papers",3,"two sentences",false,[]]],"entries":[{"text":3,"change":3,"kind":"known","label":"","queries":["perf"],"reasons":[["perf","cat:cs.PF",[["categories",0,5,0]]]],"announced":"2026-11-19","before":null,"sequel":null,"near":""},{"text":2,"change":2,"kind":"known","label":"","queries":["perf"],"reasons":[["perf","cat:cs.PF",[["categories",0,5,0]]]],"announced":"2026-11-19","before":null,"sequel":null,"near":""},{"text":1,"change":1,"kind":"known","label":"","queries":["perf"],"reasons":[["perf","cat:cs.PF",[["categories",0,5,0]]]],"announced":"2026-11-19","before":null,"sequel":null,"near":""}]}', 3, 3),
	(2, 1, '2026-12-01', 'scheduled', '2026-12-01 03:47:00+00', 'UTC', 'Perf team', '{"queries":[["perf","cat:cs.PF"]],"coverage":{"announcement":"2026-11-30","is_complete":true,"compared":4,"matched":1,"checked_at":"2026-12-01T03:47:00+00:00","source":"harvest","failure":"","new":1,"is_settled":false,"is_awaited":false,"since":null,"announcements":1,"total":0,"last_shown_at":null,"failing_since":null},"group_by":"kind","abstracts":"short","remark":"","is_nearest":false,"groups":[["New",1,"two sentences",false,[]]],"entries":[{"text":4,"change":4,"kind":"new","label":"","queries":["perf"],"reasons":[["perf","cat:cs.PF",[["categories",0,5,0]]]],"announced":"2026-11-30","before":null,"sequel":null,"near":""}]}', 1, 1);
INSERT INTO public.gate VALUES
	('arxiv', 'test', 3, 1796096820, 1796096824, 0, 0, '');
INSERT INTO public.installation VALUES
	(1, 'HlhP7gc3kI-myx_LgmPHV3Rd8ROglVgZJprtfIMS4HI', '2026-11-29 09:19:19.450689+00', NULL);
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
	(1, '2026-11-20 03:47:00+00', 'GET', 'http://127.0.0.1:35201/oai?verb=ListRecords&metadataPrefix=arXivRaw&from=2026-11-10', 200, 90, 1954, 'ok', ''),
	(2, '2026-11-20 03:47:04+00', 'GET', 'http://127.0.0.1:35201/api/query?start=0&max_results=50&search_query=cat%3Acs.PF&sortBy=lastUpdatedDate&sortOrder=descending', 200, 3, 1932, 'ok', ''),
	(3, '2026-12-01 03:47:00+00', 'GET', 'http://127.0.0.1:35201/oai?verb=ListRecords&metadataPrefix=arXivRaw&from=2026-11-06', 200, 3, 2517, 'ok', '');
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
	(1, 'perf-team', 'Perf team', 'file', 'active', 'daily at 02:00 UTC', 'new cross-listed', 'skip', NULL, 'short', 7, '', '', '', '', '', '', '', 'kind', '2026-12-02 02:00:00+00', '2026-12-01', '2026-12-01 03:47:00+00', 0, NULL, 0, NULL, NULL, '2026-11-20 03:47:00+00', NULL);
INSERT INTO public.suppressions VALUES
	('mailto:suppressed@example.org', 'perf-team', 'page', '2026-12-01 03:47:00+00');
INSERT INTO public.tokens VALUES
	('00679f7fcc090d7a4163ffceee3e7e5b95b85a490e26af5c47362c76710c3287', 'preferences', 'mailto:sent@example.org', '', NULL, '2026-11-20 03:47:04+00'),
	('170fae575a1a1f52ea6959f65a5c4e845304820886b26a81dca8d667e2a60896', 'preferences', 'mailto:sending@example.org', '', NULL, '2026-11-20 03:47:04+00'),
	('19c5b948df0504fe4ed6b251106697690b2aad8dc9d295d8492d73d68bf60924', 'preferences', 'mailto:claimed@example.org', '', NULL, '2026-11-20 03:47:04+00'),
	('246bb1a3f2b2b8e5d9ecd0b9915dcea242290378774870abea95f94a6c47eef0', 'preferences', 'mailto:ready@example.org', '', NULL, '2026-11-20 03:47:04+00'),
	('24d834882bbf03d38d98bb844851bfebdae8dccb1c4a1d91306240ec7d98bd61', 'web', '', 'perf-team', 2, '2026-12-01 03:47:00+00'),
	('261b15e15a4971915fd19903193f69822bcedf048cfab026b8d40f0a18a8af20', 'preferences', 'mailto:held@example.org', '', NULL, '2026-11-20 03:47:04+00'),
	('2b6dfc626942fe836e927f7b4e336ecb3ff14f9c769fae0c8b190b60acf4abe6', 'unsubscribe', 'mailto:suppressed@example.org', 'perf-team', NULL, '2026-11-20 03:47:04+00'),
	('44c70ba548428b8ba2853a0abc64a7b90df8e45c157bf337c76cbc4a1b4425ef', 'unsubscribe', 'mailto:ready@example.org', 'perf-team', NULL, '2026-11-20 03:47:04+00'),
	('48fd367ce14471dee9e28382529cb7a862fe3a94675d24aaf44f3970e66f4ecf', 'preferences', 'mailto:dead@example.org', '', NULL, '2026-11-20 03:47:04+00'),
	('5c0628ac92f4b7d6fc7f188c58e7b693bae9fb33a22b164fdef2baf5cfb6eb11', 'unsubscribe', 'mailto:held@example.org', 'perf-team', NULL, '2026-11-20 03:47:04+00'),
	('647f3b87ab9555d6d9eb75da90c380ea6007c3f48a9be4de1f02837db27b6ccf', 'preferences', 'mailto:suppressed@example.org', '', NULL, '2026-11-20 03:47:04+00'),
	('8f8f80ea432ee0153432f51bbe882c3bc6aee8747db28641394057d926634091', 'preferences', 'mailto:unknown@example.org', '', NULL, '2026-11-20 03:47:04+00'),
	('b6386796fdc77d47ec0f6ec23ed9616184f6b8877de28747c21fbfab17dea0f1', 'unsubscribe', 'mailto:claimed@example.org', 'perf-team', NULL, '2026-11-20 03:47:04+00'),
	('c793ca4cb29564f5d780797a6bfeb67cba898f43b6caae5e808260cb176ea8be', 'unsubscribe', 'mailto:sent@example.org', 'perf-team', NULL, '2026-11-20 03:47:04+00'),
	('d0d107d5d952513a14761e9ebc1b8cd3f0b411e7599dadd17ec51734764a7e81', 'unsubscribe', 'mailto:unknown@example.org', 'perf-team', NULL, '2026-11-20 03:47:04+00'),
	('da1423a86b820e57fa4cce1ea46164e6ed394f9061efd68c7938b9521acda302', 'web', '', 'perf-team', 1, '2026-11-20 03:47:04+00'),
	('df1d511a173d4bf78f5dd5cd935f0e2b768de72a47d25cacc0d83fa9010bea96', 'unsubscribe', 'mailto:sending@example.org', 'perf-team', NULL, '2026-11-20 03:47:04+00'),
	('f67e1c7619249bef18768f83f664f33c2e8f18c3a938edc570880ef4a36451be', 'archive', '', 'perf-team', NULL, '2026-11-20 03:47:04+00'),
	('fac7d4fbb14a68800e921578c661bacde710db83699ec623cd273c69ebecb35c', 'unsubscribe', 'mailto:dead@example.org', 'perf-team', NULL, '2026-11-20 03:47:04+00');
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
