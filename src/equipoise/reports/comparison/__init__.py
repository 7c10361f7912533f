"""Several Runs on the same sentences in; ranks, paired differences and their page out."""
