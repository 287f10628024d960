#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# usage: format.sh [--check]
# Formats every C++ file by .clang-format, or only says which ones differ from it. One version of clang-format for all,
# because versions disagree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mode=(-i)
[ "${1:-}" != --check ] || mode=(--dry-run -Werror)
folders=()
for folder in include src asio tests examples apps bench; do
  [ ! -d "$folder" ] || folders+=("$folder")
done
find "${folders[@]}" -name '*.[ch]pp' -print0 | xargs -0 clang-format-19 "${mode[@]}"
