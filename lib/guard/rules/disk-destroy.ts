import { readOptions } from '../shell/options.ts'
import { absoluteNames, Text } from '../shell/text.ts'
import {
  type Caught,
  forkBomb,
  pathsOnHost,
  type Places,
  type Rule,
  type SeenCommand,
} from './rule.ts'

/** Devices under /dev that hold no file system. */
const harmless =
  /^(?:null|zero|full|random|urandom|stdin|stdout|stderr|tty\w*|console|ptmx|pts\/.*|fd\/.*|shm\/.*|tcp\/.*|udp\/.*|kmsg|log|lp\d.*|usb\/.*|input\/.*|snd\/.*|dsp|video\d+|cu\..*|serial\/.*)$/
const disks =
  /^(?:(?:sd|hd|vd|xvd|nvme|mmcblk|md|dm-|loop|nbd|sr|ram|zram|rdisk|disk|mtdblock|mtd|bcache|drbd|rbd|zd|pmem|fd\d)\w*|(?:mapper|disk|block|zvol|vg\w*|md)\/.*|root|mem|kmem|port)$/
const diskNames = 'sda sda1 sdb vda nvme0n1 xvda mmcblk0 disk0 disk1 hda md0 dm-0'.split(' ')

export const diskDestroy: Rule = {
  name: 'disk-destroy',
  decision: 'deny',
  instead: 'Write to an image file in the project, and leave devices to a person.',
  holdsFor: 'everyone',
  examples: {
    match: [
      'mkfs.ext4 /dev/sda1',
      'dd if=/dev/zero of=/dev/sda',
      'cat x > /dev/nvme0n1',
      ':(){ :|:& };:',
    ],
    pass: [
      'dd if=/dev/zero of=disk.img',
      'echo x > /dev/null',
      'mkfs.ext4 disk.img',
      'lsblk /dev/sda',
    ],
  },
  check(command) {
    if (command.name === forkBomb)
      return { does: 'starts itself again and again until nothing else runs', certain: true }
    for (const target of command.writes) {
      const caught = onDisk(target, command.places, 'writes over the device')
      if (caught) return caught
    }
    return destroyed(command)
  },
}

function destroyed({ name, args, places, redirected }: SeenCommand): Caught | null {
  const anyOf = (words: readonly Text[], does: string): Caught | null => {
    for (const word of words) {
      const caught = onDisk(word, places, does)
      if (caught) return caught
    }
    return null
  }
  const operands = (shortValues = ''): readonly Text[] =>
    readOptions(args, { shortValues }).operands
  const has = (pattern: RegExp): boolean => args.some((word) => word.test(pattern))
  if (/^(?:mkfs(?:\..+)?|mke2fs|mkdosfs|mkntfs|mkswap|newfs(?:_\w+)?)$/.test(name)) {
    const unknownOperand = operands().some((word) => !word.isKnown)
    const caught = anyOf(args, 'makes a new file system on')
    return (
      caught ??
      (unknownOperand
        ? {
            does: 'makes a new file system on a device that is not known before the run',
            certain: false,
          }
        : null)
    )
  }
  if (name.startsWith('partclone.')) return anyOf(writtenBy(args), 'writes over the device')
  switch (name) {
    case 'dd':
    case 'dcfldd':
    case 'dc3dd': {
      const target = args.findLast((word) => word.startsWith('of='))?.slice(3)
      if (target === undefined) return null
      if (target.beginsWith('uog')) {
        return {
          does: 'writes over a file or device that is not known before the run',
          certain: false,
        }
      }
      return onDisk(target, places, 'writes over the device', true)
    }
    case 'tee':
    case 'shred':
    case 'scrub':
    case 'blkdiscard':
    case 'mkdosfs':
    case 'truncate':
    case 'pvcreate':
    case 'luksformat':
    case 'sponge':
    case 'nwipe':
    case 'sg_format':
      return anyOf(operands('ns'), 'destroys what is on')
    case 'cp':
    case 'mv':
    case 'install':
    case 'rsync':
    case 'bmaptool':
    case 'xfs_copy': {
      const last = operands().at(-1)
      return last === undefined ? null : onDisk(last, places, 'writes over the device')
    }
    case 'ddrescue':
      return anyOf(operands().slice(1), 'writes over the device')
    case 'qemu-img':
      return has(/^(?:convert|create|resize|commit|rebase|dd)$/)
        ? anyOf(
            operands('OofFBSlrmn')
              .slice(args[0]?.is('convert') ? -1 : 1)
              .concat(args.flatMap((word) => (word.startsWith('of=') ? word.slice(3) : []))),
            'writes over the device',
          )
        : null
    case 'curl':
    case 'wget':
    case 'aria2c':
    case 'openssl':
    case 'ntfsclone':
      return anyOf(writtenBy(args), 'writes over the device')
    case 'lvremove':
    case 'vgremove':
    case 'pvremove':
      return { does: 'destroys a volume of disks', certain: true }
    case 'bcachefs':
      return has(/^format$/) ? anyOf(args, 'makes a new file system on') : null
    case 'wipefs':
      return has(/^-\w*a|^--all/) || has(/^-\w*o/)
        ? anyOf(operands('ot'), 'wipes the signatures of')
        : null
    case 'badblocks':
      return has(/^-\w*w/) ? anyOf(operands('bcdeopit'), 'overwrites') : null
    case 'sgdisk':
      return has(
        /^-\w*[ozZdnNlRgmGsrth]|^--(?:zap|clear|delete|new|load|replicate|mbrtogpt|largest)/,
      )
        ? anyOf(args, 'changes the partitions of')
        : null
    case 'gdisk':
    case 'cgdisk':
    case 'fdisk':
    case 'cfdisk':
    case 'sfdisk':
      return has(/^-\w*[lsdxJ]|^--(?:list|dump|json|show)/)
        ? null
        : anyOf(args, 'changes the partitions of')
    case 'parted':
      return redirected || has(/^(?:mklabel|mktable|mkpart|mkfs|cp|move|resize|rm|resizepart)$/)
        ? anyOf(args, 'changes the partitions of')
        : null
    case 'cryptsetup':
      return has(/^(?:luksFormat|erase|luksErase|reencrypt)$/)
        ? anyOf(args, 'destroys what is on')
        : null
    case 'hdparm':
      return has(/^--(?:security-erase|trim-sector|write-sector)/) ? anyOf(args, 'erases') : null
    case 'nvme':
      return has(/^(?:format|sanitize)$/) ? anyOf(args, 'erases') : null
    case 'mdadm':
      return has(/^--(?:zero-superblock|create)/) ? anyOf(args, 'destroys the array on') : null
    case 'diskutil':
      return has(/^(?:erase\w*|zeroDisk|secureErase|partitionDisk|reformat)$/i)
        ? { does: 'erases a disk', certain: true }
        : null
    case 'zpool':
    case 'zfs':
      return has(/^(?:destroy|labelclear)$/)
        ? { does: 'destroys a storage pool', certain: true }
        : null
    default:
      return null
  }
}

/** The files that options such as `-o` name. */
const writtenBy = (args: readonly Text[]): Text[] =>
  args.flatMap((word, at) => {
    if (args[at - 1]?.test(/^(?:-[a-zA-Z]*[oO]|-out|--output(?:-document)?|--out|--overwrite)$/)) {
      return [word]
    }
    const [option = ''] =
      /^(?:-[oO](?=\/)|--(?:out|output|output-document|overwrite)=)/.exec(word.chars) ?? []
    return option === '' ? [] : [word.slice(option.length)]
  })

function onDisk(given: Text, places: Places, does: string, anyDevice = false): Caught | null {
  for (const [path, directory] of pathsOnHost(given, places)) {
    const [root, ...rest] = absoluteNames(path, directory)
    if (!root?.is('dev') || rest.length === 0) continue
    const device = Text.join(rest, '/')
    const certain = path.isKnown
    const isDisk =
      device.isGlob || !certain
        ? diskNames.some((name) => device.matches(name))
        : anyDevice
          ? !device.test(harmless)
          : device.test(disks)
    if (isDisk) return { does: `${does} /dev/${device.chars}`, certain }
  }
  return null
}
