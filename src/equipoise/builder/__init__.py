"""A word list and a language model in, a dataset that people agree on out: draft, rules, survey, verdict, compare.

generate -> generations.jsonl, drafts.jsonl; filter -> kept.jsonl; survey -> survey.sqlite; clean -> dataset/.
"""
