"""`make bench`: how fast the log is, beside bare loops and a peer, as ratios within one run."""
