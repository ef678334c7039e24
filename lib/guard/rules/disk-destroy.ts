import { type Options, type OptionStyle, readOptions } from '../shell/options.ts'
import { absoluteNames, Text } from '../shell/text.ts'
import { type Caught, forkBomb, type Places, type Rule, type SeenCommand } from './rule.ts'

/** What holds no file system under /dev: `dd` may write to nothing else there. */
const harmless =
  /^(?:null|zero|full|random|urandom|stdin|stdout|stderr|tty\w*|console|ptmx|pts\/.*|fd\/.*|shm\/.*|tcp\/.*|udp\/.*|kmsg|log|lp\d.*|usb\/.*|input\/.*|snd\/.*|dsp|video\d+|cu\..*|serial\/.*)$/
/** Devices under /dev that hold a file system, or memory. */
const disks =
  /^(?:(?:sd|hd|vd|xvd|nvme|mmcblk|md|dm-|loop|nbd|sr|ram|zram|rdisk|disk|mtdblock|mtd|bcache|drbd|rbd|zd|pmem|fd\d)\w*|(?:mapper|disk|block|zvol|vg\w*|md)\/.*|root|mem|kmem|port)$/
const diskNames = 'sda sda1 sdb vda nvme0n1 xvda mmcblk0 disk0 disk1 hda md0 dm-0'.split(' ')

export const diskDestroy: Rule = {
  name: 'disk-destroy',
  decision: 'deny',
  instead: 'Write to an image file in the project, and leave devices to a person.',
  holdsFor: 'everyone',
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

/** How a program destroys what is on the device that one of its arguments names. */
interface Destroyer {
  /** Gives the arguments that may name the device. Default: all. */
  readonly written?: (read: Options) => readonly Text[]
  /** How its options are read for that. */
  readonly style?: OptionStyle
  /** It does so only with one of these words. */
  readonly only?: RegExp
  /** It does not with one of these. */
  readonly never?: RegExp
}

const copies: Destroyer = { written: ({ operands }) => operands.slice(-1) }
const downloads: Destroyer = {
  style: { shortValues: 'oO', longValues: 'output output-document' },
  written: (read) => read.valuesOf('o', 'O', 'output', 'output-document'),
}
const partitions: Destroyer = { never: /^-\w*[lsdxJ]|^--(?:list|dump|json|show)/ }
const always =
  `tee shred scrub blkdiscard truncate pvcreate luksformat sponge nwipe sg_format`.split(/\s+/)

/** Sources: the manual page of each program. */
const destroyers: Readonly<Record<string, Destroyer>> = {
  ...Object.fromEntries(always.map((name) => [name, {}])),
  ...{ cp: copies, mv: copies, install: copies, rsync: copies, bmaptool: copies, xfs_copy: copies },
  ...{ curl: downloads, wget: downloads },
  ddrescue: {
    style: { shortValues: 'bcEHiKmorsTxXZ' },
    written: ({ operands }) => operands.slice(1),
  },
  ...{ fdisk: partitions, sfdisk: partitions, cfdisk: partitions, gdisk: partitions },
  cgdisk: partitions,
  'qemu-img': { ...copies, only: /^(?:convert|create|resize|commit|rebase|dd)$/ },
  bcachefs: { only: /^format$/ },
  wipefs: { only: /^-\w*[ao]|^--all/ },
  badblocks: { only: /^-\w*w/ },
  sgdisk: {
    only: /^-\w*[ozZdnNlRgmGsrth]|^--(?:zap|clear|delete|new|load|replicate|mbrtogpt|largest)/,
  },
  parted: { only: /^(?:mklabel|mktable|mkpart|mkfs|cp|move|resize|rm|resizepart)$/ },
  cryptsetup: { only: /^(?:luksFormat|erase|luksErase|reencrypt)$/ },
  hdparm: { only: /^--(?:security-erase|trim-sector|write-sector)/ },
  nvme: { only: /^(?:format|sanitize)$/ },
  mdadm: { only: /^--(?:zero-superblock|create)/ },
}

/** What destroys without the name of a device. */
const destroysByName =
  /^(?:[lvp]v|vg)remove |^diskutil (?:erase\w*|zeroDisk|secureErase|partitionDisk|reformat)\b|^z(?:pool|fs) (?:destroy|labelclear)\b/i

function destroyed({ name, args, places, redirected }: SeenCommand): Caught | null {
  const has = (pattern: RegExp): boolean => args.some((word) => word.test(pattern))
  const firstOn = (words: readonly Text[], does: string): Caught | null => {
    for (const word of words) {
      const caught = onDisk(word, places, does)
      if (caught) return caught
    }
    return null
  }
  if (destroysByName.test(`${name} ${args[0]?.chars ?? ''}`)) {
    return { does: 'destroys a volume, a disk or a storage pool', certain: true }
  }
  if (/^(?:mkfs(?:\..+)?|mke2fs|mkdosfs|mkntfs|mkswap|newfs(?:_\w+)?)$/.test(name)) {
    const does = 'makes a new file system on'
    const isUnknown = readOptions(args, {}).operands.some((word) => !word.isKnown)
    const doubt = { does: `${does} a device that is not known before the run`, certain: false }
    return firstOn(args, does) ?? (isUnknown ? doubt : null)
  }
  if (/^(?:dd|dcfldd|dc3dd)$/.test(name)) {
    const target = args.findLast((word) => word.startsWith('of='))?.slice(3)
    return target?.beginsWith('uogn')
      ? { does: 'writes over a file or device that is not known before the run', certain: false }
      : target
        ? onDisk(target, places, 'writes over the device', true)
        : null
  }
  const destroyer = destroyers[name]
  if (!destroyer) return null
  const { written, style = {}, only, never } = destroyer
  const isInput = redirected && name === 'parted'
  if ((only && !has(only) && !isInput) || (never && has(never))) return null
  return firstOn(written?.(readOptions(args, style)) ?? args, 'destroys what is on')
}

function onDisk(path: Text, places: Places, does: string, anyDevice = false): Caught | null {
  for (const directory of places.directories) {
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
