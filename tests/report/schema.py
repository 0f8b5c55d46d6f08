#!/usr/bin/env python3
"""Statistics agree with docs/statistics.schema.json. usage: schema.py FILE...

tests/run and tests/preload/lib.sh check all statistics that they read. Without Debian's package
python3-jsonschema nothing is checked.
"""
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEBIAN = "/usr/lib/python3/dist-packages"  # where it is if this Python is not Debian's


def load_validator():
    sys.path.append(DEBIAN)
    try:
        import jsonschema
    except ImportError:
        return None
    finally:
        sys.path.remove(DEBIAN)
    with open(os.path.join(ROOT, "docs/statistics.schema.json")) as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


VALIDATOR = load_validator()


def disagreements(stats):
    """One line for each, or none."""
    return [f"statistics: {error.json_path}: {error.message[:300]}"
            for error in (VALIDATOR.iter_errors(stats) if VALIDATOR else ())]


def main():
    lines = []
    for path in sys.argv[1:]:
        with open(path) as file:
            lines += [f"{path}: {line}" for line in disagreements(json.load(file))]
    sys.exit("\n".join(lines) or 0)


if __name__ == "__main__":
    main()
