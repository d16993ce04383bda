"""One list of steps: `digest run` walks it once, `digest serve` keeps walking it."""
