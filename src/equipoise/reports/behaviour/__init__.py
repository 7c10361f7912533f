"""A Run in; what it says of certainty, correctness and counterfactual sets out: sentences, charts and figures."""
