"""What the suite adds to pytest: the choice of databases, and the table of promises."""
