"""One file per experiment of the paper: frozen settings, what to run, what to draw."""
