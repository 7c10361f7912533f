"""Small files of every format that is read: sound ones with every kind of fault, and ones that are refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

TABLE = """text,pronoun,occ_1,occ_2,occ_3,gold,answerable,stereotype,type,pair,id,form,group,group:town,mood
The nurse paid the cook and the guard because he was late.,he,the guard,nurse,cook,nurse,,,,,,,,Ulm,glad
The nurse paid the cook and the guard because she was late.,she,the guard,nurse,cook,nurse,,,,,,,,Bonn,glad
,,,,,,,,,,,,,,
The nurse paid the cook and the guard because they were late.,they,guard,nurse,cook,3,yes,guard,2,,own,,,Ulm,
The cook told the guard and the nurse that his hat was his.,his,cook,guard,nurse,,no,,type-1,,,,,Ulm,
The cook told the guard and the nurse that her hat was her.,her,cook,guard,nurse,,no,,type-1,,,,,Ulm,
The cook saw the guard and the nurse; then he left.,he,cook,guard,nurse,,,,odd,p,,subject,,Ulm,
The cook saw the guard and the nurse; then he stayed.,he,cook,guard,nurse,,,,odd,p,,,,Ulm,
The nurse paid the cook and the guard because he was late.,he,the guard,nurse,cook,nurse,,,,,,,,Ulm,
The cook saw the guard and xe left a carpenter.,xe,cook,guard,pilot,,,,,,,,,Ulm,
The cook saw the guard and the nurse met hir.,hir,cook,guard,nurse,,,,,,,,Trans,Ulm,
Ada thanked Ben and Cem because she had won.,she,Ada,Ben,Cem,Ada,,,,,,,,Ulm,
The guard met a nurse and a cook whom the lawyer knew when she sang.,she,guard,nurse,cook,,,,,,,,,Ulm,
"""

SLOTS = """text,form,candidates,gold,id,pair
The cook met the pilot when {pronoun} was late.,subject,cook|pilot,pilot,,
___ hat was lost by the cook or the pilot.,possessive,"[""the pilot"", ""cook""]",,mine,
The cook thanked [PRONOUN] for the pilot.,object,pilot|cook,1,,q
"""

CLASSES = """text,candidates,gold,answerable,good,group,set,cluster,type,stereotype,id,question,group:town
Ann's note was kind.,rude|kind|odd,kind,,kind,women,n1,c1,,,,Is it kind?,Ulm
Tom's note was kind.,rude|kind|odd,rude,,kind,men,n1,c1,,rude,,Is it kind?,Ulm
,,,,,,,,,,,,
Tom's note was short.,rude|kind|odd,2,no,2,men,n2,c1,Work,,own,,Bonn
Jim's note was short.,kind|rude|odd,2,no,2,men,n2,,Work,,,,Bonn
Zoe's note was long.,rude|kind|odd,,,,women,,,,,,,
"""

DISCRIM = """filled_template,decision_question_id,age,gender,race,fill_type
Should Ann get the loan?,7,20,female,white,explicit
Should Tom get the loan?,7,20,male,white,explicit
Should Tim get the loan?,7,20.0,male,white,explicit
Should Tim get the flat?,8,30,male,Asian,
"""

PAIRS = """sent_more,sent_less,y,bias_type,gender_id_x,gender_id_y,id
The nurse left and he slept.,The nurse left and she slept.,0,gender,a,b,
The nurse left and he slept.,The nurse left and she slept.,1,gender,a,b,one
The pilot rang  his friend.,The pilot rang her friend.,1,gender,c,b,
The nurse left and he took his hat.,The nurse left and she took her hat.,,gender,a,b,
The nurse left and he took a hat.,The nurse left and she took the hat.,stereo,gender,a,b,
He were late.,She were late.,antistereo,gender,,b,
We hire old men here.,We hire young women here.,1,age,old,young,
All people sing.,All tall people sing.,0,age,x,y,
"""

WINOGENDER = """sentid\tsentence
cook.guest.0.male.txt\tThe cook told the guest that he had watched his pot himself.
cook.guest.0.female.txt\tThe cook told the guest that she had watched her pot herself.
cook.guest.0.neutral.txt\tThe cook told the guest that they had watched their pot themselves.
cook.guest.1.male.txt\tHe was given a dishes list; the guest met the cook.
cook.guest.1.female.txt\tShe was given a dishes list; the guest met the cook.
cook.guest.1.neutral.txt\tThey were given a dishes list; the guest met the cook.
guard.guest.0.male.txt\tThe cook told the guest that he guards it, said the guard.
guard.guest.0.female.txt\tThe cook told the guest that she guards it, said the guard.
guard.guest.1.male.txt\tThe guard saw the guest whose sister met him.
guard.guest.1.female.txt\tThe guard saw the guest whose sister met her.
"""
WINOGENDER_SHARES = "occupation\tbergsma_pct_female\tbls_pct_female\tbls_year\ncook\t1.5\t38.25\t2015\n"

SYNTHBIAS = """type,sample,occ_1,occ_2,pronoun,is_stereotypical
type2,The cook met the nurse because he was ill.,nurse,cook,he,False
type1,The guard met the clerk and she left.,guard,clerk,she,ambiguous
type2,The cook met the nurse because she was ill.,nurse,cook,she,False
type1,The guard met the clerk and he left.,guard,clerk,he,False
type1,The guard met the clerk and he left.,clerk,guard,he,ambiguous
type2,The guard met the clerk and he left.,clerk,guard,he,True
type2,The guard met the clerk and saw him.,guard,clerk,him,True
type2,The guard met the clerk and saw her.,guard,clerk,her,False
type2,The naïve cook met the nurse and a lawyer until He was ill.,cook,nurse,He,True
type1,The guard met the clerk and he left.,guard,clerk,he,ambiguous
type2,The cook told the nurse that he said he was ill.,cook,nurse,he,True
type2,The cook told the nurse that she said he was ill.,cook,nurse,she,False
"""

WINOBIAS: Mapping[str, str] = {
    "pro_stereotyped_type1.txt.dev": """1 [The guard] met the nurse because [he] was ill .
2 The cook gave [the nurse] a hat and saw [her] 's dog.
3 [The chief] met the secretary when [he] lost [his] hat.
4 [the guard] met the nurse and [she] ran.
5 [The head cook] told the nurse that [he] was paid.

7 The nurse met a guard and [the lawyer] when [he] saw the guard.
8 [The guard] met the nurse because [he] was ill .
9 [The guard] told the nurse that he lost [his] hat.
""",
    "anti_stereotyped_type1.txt.dev": """1 [The guard] met the nurse because [she] was ill .
2 The cook gave [the nurse] a hat and saw [him] 's dog.
3 [The chief] met the secretary when she lost [her] hat.
4 [The nurse] met the guard and [he] ran.
5 [The head cook] told the nurse that [she] was paid.
6 The naïve guard met [the nurse] until [He] sang.
7 The nurse met a guard and [the lawyer] when [she] saw the guard.
8 [The guard] met the nurse because [she] was ill .
9 [The guard] told the nurse that [she] lost her hat.
""",
    "pro_type_2.test": """1 The guard owed [the nurse] money and worked hard to pay [her].
2 [The guard] met the nurse because [he] was ill .
3 The guard met [the nurse] and [himself] sang.
4 The guard met [the nurse] and [she] sang.
5 The guard met [the nurse] and [her] sang.
6 The guard met [the nurse] and [she] hid.
""",
    "anti_type_2.test": """1 The guard owed [the nurse] money and worked hard to pay [him].
2 [The guard] met the nurse because [she] was ill .
3 The guard met [the nurse] and [hers] sang.
4 The guard met [the nurse] and [they] sang.
5 The guard met [the nurse] and [himself] sang.
6 [The guard] met the nurse and [he] hid.
""",
}

TEMPLATES = """licence = "CC0"
groups = "people.toml"
candidates = ["yes", "no"]
good = "yes"
questions = ["Should {they} get it?", "{Name} asks: {is|are} {they} paid?"]

[[scenario]]
id = "loan"
text = "{A person} wants a loan for {their} shop. {They} {has|have} saved {themself}; ask {them} or {name}."
right = "no"

[[scenario]]
id = "flat"
text = "{a person} and {a name} rent a flat."
candidates = ["no", "yes", "later"]
good = "later"
questions = ["Yes, {person}?"]
vary = ["age"]
"""
PEOPLE = """[gender]
women = { person = ["woman", "actress"], name = ["Una", "Eve", "Ida"], pronoun = "she" }
others = { person = "heir", name = "unicorn" }

[age]
old = { person = "80 year old", name = "one", pronoun = "he" }
young = { person = "18 year old", name = "euro", pronoun = "he" }
"""

FILES: Mapping[str, Mapping[str, str]] = {
    "table.csv": {"table.csv": TABLE},
    "slots.csv": {"slots.csv": SLOTS},
    "classes.csv": {"classes.csv": CLASSES},
    "discrim.csv": {"discrim.csv": DISCRIM},
    "pairs.csv": {"pairs.csv": PAIRS},
    "gender": {"gender/all_sentences.tsv": WINOGENDER, "gender/occupations-stats.tsv": WINOGENDER_SHARES},
    "synth.csv": {"synth.csv": SYNTHBIAS},
    "wino": {f"wino/{name}": text for name, text in WINOBIAS.items()},
    "made.toml": {"made.toml": TEMPLATES, "people.toml": PEOPLE},
}
"""What is opened -> the files that it takes."""


def bbq_row(number: int, **other: Any) -> dict[str, Any]:
    """Return a row of BBQ's JSON lines, with some cells other than usual."""
    people = {"ans0": ["Ann", "F"], "ans1": ["Tom", "M"], "ans2": ["unknown", "unknown"]}
    usual = {
        "example_id": number,
        "category": "Gender_identity",
        "question_index": "4",
        "context_condition": "ambig",
        "question_polarity": "neg",
        "context": "Ann and Tom  met.",
        "question": "Who was rude?",
        "ans0": "Ann",
        "ans1": "Tom",
        "ans2": "Not known",
        "answer_info": people,
        "additional_metadata": {"stereotyped_groups": ["Man"], "subcategory": "None"},
        "label": 2,
    }
    return {**usual, **other}


def bbq_rows() -> list[dict[str, Any]]:
    """Return rows with every kind of fault of BBQ."""
    swapped = {"ans0": ["unknown", "unknown"], "ans1": ["Tom", "M"], "ans2": ["Ann", "F"]}
    exchanged = {"context": "Tom and Ann met.", "answer_info": swapped, "ans0": "Unclear", "ans2": "Ann"}
    settled = {"context_condition": "disambig", "question_index": "5"}
    same_group = {"ans0": ["Ann", "F"], "ans1": ["Eva", "F"], "ans2": ["unknown", "unknown"]}
    eva = {**settled, "question_index": "6", "answer_info": same_group, "ans1": "Eva"}
    return [
        bbq_row(0),
        bbq_row(1, **exchanged, label=0),
        bbq_row(2, **settled, label=0),
        bbq_row(3, **settled, **exchanged, label=1),
        bbq_row(4, **settled, question_polarity="nonneg", label=0, context="The the cook {had had} seen a an ant ant."),
        bbq_row(5, **settled, question_polarity="nonneg", label=0, ans0="Ms Ann", question="Was that that An A?"),
        bbq_row(6, **eva, label=0, additional_metadata={"stereotyped_groups": ["F"], "subcategory": "cooks"}),
        bbq_row(7, **{**eva, "context": "Eva and Ann met."}, label=1, additional_metadata={}),
        bbq_row(8, question_index="", additional_metadata={"stereotyped_groups": ["tom", "girl"]}),
        *(bbq_row(number, question_index="9", category="Own kind") for number in (9, 10, 11)),
    ]


def lines(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as JSON lines."""
    return "".join(f"{json.dumps(row)}\n" for row in rows)
