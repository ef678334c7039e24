/** The length of the longest end of `bytes` that a mark may begin with. */
export function countBegun(bytes: Buffer, mark: Uint8Array): number {
  const longest = mark.length - 1
  for (
    let at = bytes.indexOf(mark[0] ?? 0, -longest);
    at >= 0;
    at = bytes.indexOf(mark[0] ?? 0, at + 1)
  ) {
    if (bytes.subarray(at).equals(mark.subarray(0, bytes.length - at))) return bytes.length - at
  }
  return 0
}
