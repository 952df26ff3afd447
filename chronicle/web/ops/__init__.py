"""Pages and answers for those who run the site: health, jobs, ingest, sign-in."""
