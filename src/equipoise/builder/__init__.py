"""In: an occupation list and a language model.
Out: a new dataset: drafts, what passes the rules, people's answers, and the sentences that are left.

generate -> generations.jsonl, drafts.jsonl; filter -> kept.jsonl; survey -> survey.sqlite; clean -> dataset/.
"""
