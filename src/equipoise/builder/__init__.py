"""A new dataset, from nothing: drafts from a language model, rules, people's answers, and what is left.

generate -> generations.jsonl, drafts.jsonl; filter -> kept.jsonl; survey -> survey.sqlite; clean -> dataset/.
"""
