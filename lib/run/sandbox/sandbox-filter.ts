/** One instruction of the kernel's packet filter (struct sock_filter, linux/filter.h). */
type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number]

const load = 0x20 // BPF_LD | BPF_W | BPF_ABS
const jumpIfEqual = 0x15 // BPF_JMP | BPF_JEQ | BPF_K
const jumpIfAtLeast = 0x35 // BPF_JMP | BPF_JGE | BPF_K
const jumpIfAny = 0x45 // BPF_JMP | BPF_JSET | BPF_K
const answer = 0x06 // BPF_RET | BPF_K

const allow = 0x7fff0000 // SECCOMP_RET_ALLOW
const refuse = (errno: number) => 0x00050000 | errno // SECCOMP_RET_ERRNO
const EPERM = 1
const ENOSYS = 38
const EAFNOSUPPORT = 97

/** Where struct seccomp_data (linux/seccomp.h) holds what, in bytes; arguments are 64 bits wide. */
const offsets = { number: 0, architecture: 4, argument: (index: number) => 16 + 8 * index }

interface SystemCalls {
  /** AUDIT_ARCH_* (linux/audit.h). */
  architecture: number
  socket: number
  ioctl: number
  /** Kernel keyrings belong to the user, not to a namespace. */
  keys: readonly number[]
  /** Calls that give a file its mode, and which argument that is. */
  changeMode: Readonly<Record<number, number>>
  makeFile: Readonly<Record<number, number>>
  /** Calls that may make a file, and which argument are the flags that say so; the mode comes next. */
  openFile: Readonly<Record<number, number>>
  /** unshare and clone. */
  makeNamespace: Readonly<Record<number, number>>
}

/** Numbers of asm/unistd_64.h and asm-generic/unistd.h. */
const systems: Readonly<Partial<Record<string, SystemCalls>>> = {
  x64: {
    architecture: 0xc000003e,
    socket: 41,
    ioctl: 16,
    keys: [248, 249, 250],
    // chmod, fchmod, fchmodat, fchmodat2; creat, mknod, mknodat; open, openat
    changeMode: { 90: 1, 91: 1, 268: 2, 452: 2 },
    makeFile: { 85: 1, 133: 1, 259: 2 },
    openFile: { 2: 1, 257: 2 },
    makeNamespace: { 272: 0, 56: 0 },
  },
  arm64: {
    architecture: 0xc00000b7,
    socket: 198,
    ioctl: 29,
    keys: [217, 218, 219],
    // fchmod, fchmodat, fchmodat2; mknodat; openat
    changeMode: { 52: 1, 53: 2, 452: 2 },
    makeFile: { 33: 2 },
    openFile: { 56: 2 },
    makeNamespace: { 97: 0, 220: 0 },
  },
}
/** The same numbers everywhere. */
const [ioUringSetup, clone3, openat2] = [425, 435, 437]

/** A set-user-ID file would give what its owner may do to whoever runs it on the host (inode(7)). */
const S_ISUID = 0o4000
/** A folder may have it: its files then belong to its group. Only a call that makes no folder is refused it. */
const S_ISGID = 0o2000
/** Without O_CREAT and __O_TMPFILE the mode counts for nothing (open(2)). */
const creating = 0o100 | 0o20000000
/**
 * Whoever makes one may mount its control groups writable (cgroup_namespaces(7)), and freeze or kill all that
 * is in the group of the run, nacre as well.
 */
const CLONE_NEWCGROUP = 0x02000000

const families = { AF_UNIX: 1, AF_INET: 2, AF_INET6: 10, AF_NETLINK: 16 }
const NETLINK_ROUTE = 0
/** Both type into the terminal as if its user had (tty_ioctl(4), ioctl_console(2)). */
const typingRequests = { TIOCSTI: 0x5412, TIOCLINUX: 0x541c }
/** Calls of the 32-bit ABI on x86-64 (x32), which have numbers of their own. */
const x32Bit = 0x40000000

/**
 * A seccomp(2) program for what mounts and namespaces do not stop: sockets that reach past them
 * (vsock, packet, netlink but for the list of interfaces), typing into a terminal, the keyrings of
 * the kernel, set-user-ID files, namespaces of control groups, io_uring, clone3 and openat2 (which do
 * the same unseen by the filter), and foreign ABIs, whose numbers mean other calls. Null where the
 * numbers of this architecture are not known.
 */
export function createSandboxFilter(architecture: string): Uint8Array<ArrayBuffer> | null {
  const calls = systems[architecture]
  return calls ? encode(compose(calls)) : null
}

function compose(calls: SystemCalls): Instruction[] {
  const socketRules: Instruction[] = [
    [load, 0, 0, offsets.argument(0)],
    // To the last but one: allowed.
    [jumpIfEqual, 6, 0, families.AF_UNIX],
    [jumpIfEqual, 5, 0, families.AF_INET],
    [jumpIfEqual, 4, 0, families.AF_INET6],
    [jumpIfEqual, 0, 2, families.AF_NETLINK],
    [load, 0, 0, offsets.argument(2)],
    [jumpIfEqual, 1, 0, NETLINK_ROUTE],
    [answer, 0, 0, refuse(EAFNOSUPPORT)],
    [answer, 0, 0, allow],
  ]
  const ioctlRules: Instruction[] = [
    // The kernel looks at the lower half only, and so does a load of 32 bits (little-endian).
    [load, 0, 0, offsets.argument(1)],
    [jumpIfEqual, 2, 0, typingRequests.TIOCSTI],
    [jumpIfEqual, 1, 0, typingRequests.TIOCLINUX],
    [answer, 0, 0, allow],
    [answer, 0, 0, refuse(EPERM)],
  ]
  return [
    [load, 0, 0, offsets.architecture],
    [jumpIfEqual, 1, 0, calls.architecture],
    [answer, 0, 0, refuse(ENOSYS)],
    [load, 0, 0, offsets.number],
    [jumpIfAtLeast, 0, 1, x32Bit],
    [answer, 0, 0, refuse(ENOSYS)],
    [jumpIfEqual, 0, socketRules.length, calls.socket],
    ...socketRules,
    [jumpIfEqual, 0, ioctlRules.length, calls.ioctl],
    ...ioctlRules,
    ...calls.keys.flatMap((call): Instruction[] => [
      [jumpIfEqual, 0, 1, call],
      [answer, 0, 0, refuse(EPERM)],
    ]),
    ...refuseFlags(calls.changeMode, S_ISUID),
    ...refuseFlags(calls.makeFile, S_ISUID | S_ISGID),
    ...Object.entries(calls.openFile).flatMap(([call, flags]): Instruction[] => [
      [jumpIfEqual, 0, 6, Number(call)],
      [load, 0, 0, offsets.argument(flags)],
      [jumpIfAny, 0, 3, creating],
      ...refuseFlag(flags + 1, S_ISUID | S_ISGID),
    ]),
    ...refuseFlags(calls.makeNamespace, CLONE_NEWCGROUP),
    ...[ioUringSetup, clone3, openat2].flatMap((call): Instruction[] => [
      [jumpIfEqual, 0, 1, call],
      [answer, 0, 0, refuse(ENOSYS)],
    ]),
    [answer, 0, 0, allow],
  ]
}

function refuseFlags(calls: Readonly<Record<number, number>>, bits: number): Instruction[] {
  return Object.entries(calls).flatMap(([call, argument]): Instruction[] => [
    [jumpIfEqual, 0, 4, Number(call)],
    ...refuseFlag(argument, bits),
  ])
}

const refuseFlag = (argument: number, bits: number): Instruction[] => [
  [load, 0, 0, offsets.argument(argument)],
  [jumpIfAny, 0, 1, bits],
  [answer, 0, 0, refuse(EPERM)],
  [answer, 0, 0, allow],
]

function encode(program: readonly Instruction[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(program.length * 8)
  const view = new DataView(bytes.buffer)
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    view.setUint16(index * 8, code, true)
    view.setUint8(index * 8 + 2, ifTrue)
    view.setUint8(index * 8 + 3, ifFalse)
    view.setUint32(index * 8 + 4, value, true)
  }
  return bytes
}
