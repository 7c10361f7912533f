"""In: a run.
Out: what it says about certainty, correctness and counterfactual sets: sentences, charts and figures.
"""
