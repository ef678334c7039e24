/**
 * Words without which none of the rules that hold for everyone can apply, however the rest of the
 * text reads. For a text that no grammar reads: a person's or script's own typing error is for the
 * shell to tell, unless one of these is in it.
 */
const dangerous =
  /(?<![\w.-])(?:rm|rmdir|unlink|find|shred|dd|mkfs[\w.]*|mke2fs|mkswap|wipefs|blkdiscard|sgdisk|sfdisk|fdisk|parted)(?![\w-])|\/dev\/|\|\s*[\w:]+\s*&/

/** Looks through quotes and backslashes, which a shell would take away. */
export function mentionsDanger(text: string): boolean {
  return dangerous.test(text) || dangerous.test(text.replaceAll(/["'\\]|\$\{?[@*]\}?/g, ''))
}
