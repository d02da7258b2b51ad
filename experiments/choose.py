"""Write the best settings of a search, chosen on validation, as one config a file: ``experiments/configs``.

python experiments/choose.py refined.jsonl
"""

import argparse
import json
from pathlib import Path

import yaml

from qgcn.training import Config

FOLDER = Path(__file__).parent / "configs"


def main() -> None:
    """Choose and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trials", type=Path, nargs="+")
    given = parser.parse_args()
    best: dict[tuple[str, ...], dict[str, object]] = {}
    for line in (line for file in given.trials for line in file.read_text().splitlines()):
        result = json.loads(line)
        key = tuple(result["settings"][name] for name in ("task", "data", "model", "space"))
        if key not in best or result["validation"] > best[key]["validation"]:
            best[key] = result
    FOLDER.mkdir(exist_ok=True)
    for key, result in best.items():
        config = Config.checked(result["settings"] | {"seeds": 10})
        about = f"# chosen on validation: trial {result['trial']}, {result['validation']:.4f} over {result['seeds']} seeds\n"
        text = about + yaml.safe_dump(config.model_dump(exclude_defaults=True), sort_keys=False)
        (FOLDER / ("-".join(key) + ".yaml")).write_text(text)
        print(*key, f"{result['validation']:.4f}")


if __name__ == "__main__":
    main()
