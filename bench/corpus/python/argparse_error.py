"""A command line tool that is called with a wrong option: argparse exits with 2."""
import argparse


def positive(text):
    value = int(text)
    if value <= 0:
        raise argparse.ArgumentTypeError(f"{value} is not positive")
    return value


parser = argparse.ArgumentParser(prog="backup", description="Copy files to a backup directory.")
commands = parser.add_subparsers(dest="command", required=True)
create = commands.add_parser("create", help="make a backup")
create.add_argument("--keep", type=positive, default=7)
create.add_argument("source")
restore = commands.add_parser("restore", help="restore a backup")
restore.add_argument("--date", required=True)

args = parser.parse_args(["create", "--keep", "3", "/data"])
print(f"{args.command}: source={args.source} keep={args.keep}")
args = parser.parse_args(["restore", "--date", "2024-05-01"])
print(f"{args.command}: date={args.date}")
parser.parse_args(["create", "--keep", "0", "/data"])
print("never printed")
