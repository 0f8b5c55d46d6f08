#!/usr/bin/env python3
"""Statistics agree with docs/statistics.schema.json, or other files with another schema.
usage: schema.py [--schema NAME] FILE...

tests/run and tests/preload/lib.sh check all statistics that they read. Without Debian's package
python3-jsonschema nothing is checked.
"""
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEBIAN = "/usr/lib/python3/dist-packages"  # where it is if this Python is not Debian's


def load_validator(name):
    sys.path.append(DEBIAN)
    try:
        import jsonschema
    except ImportError:
        return None
    finally:
        sys.path.remove(DEBIAN)
    with open(os.path.join(ROOT, "docs", name + ".schema.json")) as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


VALIDATOR = load_validator("statistics")


def disagreements(values, name="statistics"):
    """One line for each, or none."""
    validator = VALIDATOR if name == "statistics" else load_validator(name)
    return [f"{name}: {error.json_path}: {error.message[:300]}"
            for error in (validator.iter_errors(values) if validator else ())]


def main():
    name, paths, lines = "statistics", sys.argv[1:], []
    if paths[:1] == ["--schema"]:
        name, paths = paths[1], paths[2:]
    for path in paths:
        with open(path) as file:
            lines += [f"{path}: {line}" for line in disagreements(json.load(file), name)]
    sys.exit("\n".join(lines) or 0)


if __name__ == "__main__":
    main()
