"""Files of a run that hold hostile JSON, as a stranger might have written them."""

import hashlib
import json
import struct

from tests.chaos.readers import check_readers

RAW = (
    "NaN", "Infinity", "-Infinity", "1e999", "-1", "0", "0.5", "1e308", "true", "null", "[]", "{}",
    "9" * 400, "-" + "9" * 400, str(2**63), "[" * 3_000 + "]" * 3_000, "[" * 10**5 + "]" * 10**5,
    '{"a":' * 2_000 + "1" + "}" * 2_000, '""', '"x"', '"NaN"', '"\\u001b[2J"', '"\\ud800"',
    '"$x_{$"', '"[/red]"', '"../../x"', '"/etc/passwd"', '"a\\nb"', '"' + "x" * 10_000 + '"',
    '"\\u0000"', "[[1],[2,3]]", '[1,"2",null]', '{"name":"x"}', "{", "not json", "",
)  # fmt: skip
"""Text in place of a value."""

MARK = "@value@"


def hostile(trial, document):
    """A document with one to three values, or all of it, replaced by something hostile; as text."""
    if trial.rng.random() < 0.1:
        return trial.rng.choice(RAW)
    document, raws = json.loads(json.dumps(document)), []
    for number in range(trial.rng.choice((1, 1, 2, 3))):
        owner, key = _any_place(trial.rng, document)
        if owner is None:
            continue
        if trial.rng.random() < 0.15 and isinstance(owner, dict):
            del owner[key]
            trial.note(f"without {key}")
            continue
        raws.append((f'"{MARK}{number}"', trial.rng.choice(RAW)))
        owner[key] = f"{MARK}{number}"
        trial.note(f"{key}: {raws[-1][1][:30]}")
    text = json.dumps(document)
    for mark, raw in raws:
        text = text.replace(mark, raw)
    return text


def _any_place(rng, document):
    """A container inside the document, and a key of it."""
    places = []

    def walk(value):
        keys = value if isinstance(value, dict) else range(len(value))
        for key in keys:
            places.append((value, key))
            if isinstance(value[key], dict | list):
                walk(value[key])

    walk(document)
    return rng.choice(places) if places else (None, None)


def config(trial):
    """Whatever a config holds, it is read or reported in one line."""
    trial.begin(trial.rng.choice(("half", "whole")))
    _rewrite(trial, trial.run / "config.json")


def progress(trial):
    """Whatever the progress holds, nothing depends on it."""
    trial.begin(trial.rng.choice(("half", "whole")))
    _rewrite(trial, trial.run / "progress.json")


def metrics(trial):
    """Whatever a line of metrics holds, the others count."""
    trial.begin(trial.rng.choice(("half", "whole")))
    file = trial.run / "metrics.jsonl"
    lines = file.read_text().splitlines()
    index = trial.rng.randrange(len(lines))
    line = hostile(trial, json.loads(lines[index]))
    trial.note(f"in line {index}")
    lines[index : index + trial.rng.randrange(2)] = [line]
    _write(file, "\n".join(lines) + "\n")
    _check(trial)


def agent(trial):
    """Whatever an agent's file says of itself, it is read or reported in one line."""
    trial.begin(trial.rng.choice(("half", "whole")))
    file = trial.run / "agent.safetensors"
    data = file.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    if trial.rng.random() < 0.6:
        about = json.loads(header["__metadata__"]["about"])
        header["__metadata__"]["about"] = hostile(trial, about)
        text = json.dumps(header)
    else:
        text = hostile(trial, header)
    encoded = text.encode(errors="surrogatepass")
    file.unlink()
    file.write_bytes(struct.pack("<Q", len(encoded)) + encoded + data[8 + size :])
    _check(trial)


def manifest(trial):
    """Whatever a checkpoint's manifest says, with the right checksum, one line is enough."""
    trial.begin("half")
    file = max((trial.run / "checkpoints").glob("checkpoint-*.json"))
    text = hostile(trial, json.loads(json.loads(file.read_text())["checkpoint"]))
    checksum = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
    _write(file, json.dumps({"sha256": checksum, "checkpoint": text}))
    trial.remember_others()
    result = trial.train()
    trial.check_others()
    trial.check_clean()
    trial.note(f"exit {result.code}")


def _rewrite(trial, file):
    trial.note(file.name)
    _write(file, hostile(trial, json.loads(file.read_text())))
    _check(trial)


def _write(file, text):
    file.write_bytes(text.encode(errors="surrogatepass"))


def _check(trial):
    trial.remember_others()
    check_readers(trial)
    trial.check_resumes()
