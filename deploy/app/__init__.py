"""A small application to deploy: a node that serves a job, and a word to ask it how it is."""
