#!/usr/bin/env bash
# The one file on a bare machine: a root made by debootstrap, with bash and no Node, gets dist/nacre and
# nothing else, and the smoke tests drive it in there. Needs root.
#
#     .ci/tools/bare-machine.sh [executable]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
executable=${1:-$here/dist/nacre}
root=$(mktemp -d "${TMPDIR:-/tmp}/nacre-bare-XXXXXX")
trap 'rm -rf --one-file-system "$root"' EXIT

debootstrap --variant=minbase --include=libc-bin "${NACRE_BARE_SUITE:-bookworm}" "$root" >"$root.log" 2>&1 || {
  tail -5 "$root.log"
  exit 1
}
rm -f "$root.log"
install -m 755 "$executable" "$root/usr/local/bin/nacre"
for program in node deno bun npm; do
  ! chroot "$root" sh -c "command -v $program" >/dev/null || { echo "$program is there"; exit 1; }
done
# In mounts of its own, which end with it.
unshare --mount bash -c '
  mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev"
  exec node "$2/test/smoke.js" chroot "$1" /usr/local/bin/nacre' _ "$root" "$here"
