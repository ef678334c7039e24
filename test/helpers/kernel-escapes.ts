import { type Escape, perl } from './escapes.ts'

/** Mounts, for a process that is root of a namespace of its own. `z` ends a text as the kernel wants it. */
const nested = (namespaces: string, program: string): string =>
  perl(
    'sub z { my $z = "$_[0]\\0"; $z } sub mnt { my ($s, $t, $y, $f, $d) = @_; my @z = map { z($_) } $s, $t, $y, $d;' +
      ' syscall(165, $z[0], $z[1], $z[2], $f, $z[3]) == 0 or print "mount $y: $!\\n" }' +
      ` syscall(272, ${namespaces}) == 0 or print "no namespace: $!\\n"; ${program}`,
  )
const [NEWNS, NEWCGROUP, NEWUSER, NEWPID, NEWNET] = [
  ...['0x20000', '0x02000000', '0x10000000', '0x20000000', '0x40000000'],
] as [string, string, string, string, string]
const userAndMounts = `${NEWUSER} | ${NEWNS}`

/** What the kernel answers who may not. */
const refused =
  /stopped: (?:Operation not permitted|Permission denied|No such process|Function not)/

/** Calls by which an administrator, or whoever traces others, would reach the machine. Numbers are those of x86-64. */
const calls: Readonly<Record<string, string>> = {
  'load a module of the kernel': '$a = "x" x 64; $e = ""; print syscall(175, $a, 64, $e)',
  'load a module of the kernel from a file':
    'open F, "<", "mine"; $e = ""; print syscall(313, fileno F, $e, 0)',
  'start another kernel': 'print syscall(246, 0, 0, 0, 0)',
  // It would turn off Ctrl-Alt-Del, no more.
  'command the machine to restart': 'print syscall(169, 0xfee1dead, 672274793, 0, 0)',
  'name the machine': '$n = "nacre"; print syscall(170, $n, 5)',
  'set the clock': '$t = pack("q2", time, 0); print syscall(227, 0, $t)',
  'use another file as swap': '$p = "$ENV{WS}/mine\\0"; print syscall(167, $p, 0)',
  'account for processes in a file': '$p = "$ENV{WS}/mine\\0"; print syscall(163, $p)',
  'reach ports of the processor': 'print syscall(172, 3)',
  'watch the whole machine by perf events':
    '$a = pack("L2Qx112", 1, 128, 0); print syscall(298, $a, -1, 0, -1, 0)',
  'put a program of BPF into the kernel':
    '$a = pack("L4x100", 1, 4, 4, 1); print syscall(321, 0, $a, 116)',
  'decide over opens by fanotify': 'print syscall(300, 4, 0)',
  'read the memory of a process outside by call':
    '$b = "x" x 8; $l = pack("PQ", $b, 8); $r = pack("Q2", 4096, 8); print syscall(310, $v, $l, 1, $r, 1, 0)',
  'hold a process outside by a descriptor': 'print syscall(434, $v, 0)',
  'compare with a process outside': 'print syscall(312, $$, $v, 3, 0, 0)',
  'limit a process outside': '$l = pack("Q2", 0, 0); print syscall(302, $v, 1, $l, 0)',
  'choose the processors of a process outside': '$m = pack("Q", 1); print syscall(203, $v, 8, $m)',
  'choose the disk priority of a process outside': 'print syscall(251, 1, $v, 3 << 13)',
  'take the priority of real time': '$p = pack("L", 50); print syscall(144, 0, 1, $p)',
  'have a process outside told by signals':
    'use Fcntl; open F, "<", "/dev/null"; print syscall(72, fileno F, 8, $v)',
  'signal a process outside by its thread': 'print syscall(200, $v, 9)',
  'open a file outside by its handle':
    '$h = pack("Ll", 64, 0) . "x" x 64; $m = pack("L", 0); $p = "$ENV{OUT}/target\\0"; syscall(303, -100, $p, $h, $m, 0); print syscall(304, -100, $h, 2)',
  'give a file a capability':
    '$p = "$ENV{WS}/mine\\0"; $n = "security.capability\\0"; $v = pack("L5", 0x2000001, ~0, 0, ~0, 0); print syscall(188, $p, $n, $v, 20, 0)',
  'take back its capabilities':
    '$h = pack("L2", 0x20080522, 0); $d = pack("L6", ~0, ~0, 0, ~0, ~0, 0); print syscall(126, $h, $d)',
  'redirect the console of the machine': 'open T, "<", "/dev/tty"; print ioctl(T, 0x541d, 0) // -1',
  'raise an interface of the network':
    'use Socket; socket S, AF_INET, SOCK_DGRAM, 0; $r = pack("a16sx22", "lo", 0x49); print ioctl(S, 0x8914, $r) // -1',
  'a raw socket of IP': 'use Socket; print socket(S, AF_INET, SOCK_RAW, 1) ? 0 : -1',
  'a namespace of control groups': `print syscall(272, ${NEWUSER} | ${NEWCGROUP})`,
  'a namespace of control groups by clone3': `$a = pack("Q11", ${NEWUSER} | ${NEWCGROUP}, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0); $r = syscall(435, $a, 88); exit if $r == 0; print $r`,
  'join the namespace above its own':
    'open F, "<", "/proc/self/ns/user"; print ioctl(F, 0xb702, 0) // -1',
}

const byCall = Object.entries(calls).map(([name, program]): Escape => ({
  name,
  command: perl(`$v = $ENV{VICTIM} + 0; ${program}; print " stopped: $!"`),
  harm: false,
  stopped: new RegExp(`^-1 ${refused.source}`, 'm'),
  ...(name.includes('console') ? { changes: { pty: true } } : {}),
}))

export const kernelEscapes: readonly Escape[] = [
  ...byCall,

  // Namespaces: their root has every capability, over what is theirs.
  {
    name: 'kill by control groups mounted anew',
    command: `mkdir m; ${nested(`${userAndMounts} | ${NEWCGROUP}`, 'mnt("none", "m", "cgroup2", 0, ""); print -e "m/cgroup.procs" ? "TOP-SECRET" : "stopped"')}`,
    harm: false,
    stopped: /^stopped/m,
  },
  {
    name: 'uncover a secret by an overlay',
    command: `mkdir u w m; ${nested(userAndMounts, 'mnt("o", "m", "overlay", 0, "lowerdir=$ENV{HOME},upperdir=u,workdir=w,userxattr"); open F, "<", "m/.ssh/id"; print <F>')}`,
    harm: false,
  },
  {
    name: 'uncover a secret by a clone of its tree',
    command: nested(
      userAndMounts,
      '$h = z($ENV{HOME}); $t = syscall(428, -100, $h, 0x80001); open F, "<", "/proc/self/fd/$t/.ssh/id" or print "stopped: $!"; print <F>',
    ),
    harm: false,
    stopped: /stopped/,
  },
  {
    name: 'uncover a secret by a bind without what is mounted in it',
    command: `mkdir m; ${nested(userAndMounts, 'mnt($ENV{HOME}, "m", "none", 4096, ""); open F, "<", "m/.ssh/id"; print <F>')}`,
    harm: false,
    stopped: /mount none: Invalid argument/,
  },
  {
    name: 'take a cover off in a copy of the tree',
    command: `mkdir m; ${nested(userAndMounts, 'mnt($ENV{HOME}, "m", "none", 0x5000, ""); $u = z("m/.ssh"); print "stopped: $!\\n" if syscall(166, $u, 2); open F, "<", "m/.ssh/id"; print <F>')}`,
    harm: false,
    stopped: /stopped: Invalid argument/,
  },
  {
    name: 'make the tree writable by its attributes',
    command: nested(
      userAndMounts,
      '$p = z("/"); $a = pack("Q4", 0, 1, 0, 0); print "stopped: $!" if syscall(442, -100, $p, 0x8000, $a, 32); open F, ">", "$ENV{OUT}/new"',
    ),
    harm: false,
    stopped: /stopped: Operation not permitted/,
  },
  {
    name: 'make a copy of the tree writable',
    command: `mkdir m; ${nested(userAndMounts, 'mnt($ENV{OUT}, "m", "none", 0x5000, ""); mnt("none", "m", "none", 0x1020, ""); open F, ">", "m/new" or print "stopped: $!"')}`,
    harm: false,
    stopped: /stopped: Read-only file system/,
  },
  {
    name: 'a mount that spreads to the host',
    command: nested(
      userAndMounts,
      'mnt("none", "/", "none", 0x104000, ""); mnt("none", "$ENV{OUT}/folder", "tmpfs", 0, ""); open F, ">", "$ENV{OUT}/folder/new"; close F; unlink "$ENV{OUT}/folder/new"',
    ),
    harm: false,
  },
  {
    name: 'a /sys of its own to write in',
    command: `mkdir m; ${nested(`${userAndMounts} | ${NEWNET}`, 'mnt("none", "m", "sysfs", 0, ""); print -e "m/kernel" ? "TOP-SECRET" : "stopped"')}`,
    harm: false,
    stopped: /^stopped/m,
  },
  {
    name: 'a /proc of its own without what covers it',
    command: `mkdir m; ${nested(`${userAndMounts} | ${NEWPID}`, 'if (fork == 0) { mnt("none", "m", "proc", 0, ""); print -e "m/sys" ? "TOP-SECRET" : "stopped"; exit } wait')}`,
    harm: false,
    stopped: /^stopped/m,
  },
  {
    name: 'a device in a file system of its own',
    command: `mkdir m; ${nested(userAndMounts, 'mnt("none", "m", "tmpfs", 0, ""); $p = z("m/disk"); print "stopped: $!" if syscall(133, $p, 0x6180, 0xfe00); open F, "<", "m/disk" and print "TOP-SECRET"')}`,
    harm: false,
    stopped: /stopped/,
  },
  {
    name: 'a network of its own that is that of the host',
    command: nested(
      `${NEWUSER} | ${NEWNET}`,
      'print map { /^ *(\\w+):/ ? "$1\\n" : () } `cat /proc/net/dev`',
    ),
    harm: false,
    changes: { network: 'off' },
    stopped: /^(?:lo|sit0|ip6tnl0|tunl0|\s)*$/,
  },
  {
    name: 'a mount left writable',
    // What is the run's own: its devices, its processes, `/run`, `/tmp`, the workspace, and empty folders over hidden ones.
    command: `awk '$6 ~ /^rw/ && !/ - tmpfs /{print $5}' /proc/self/mountinfo | grep -vE '^/(dev(/.*)?|proc|run|tmp|.*work.040space)$' && echo TOP-SECRET`,
    harm: false,
  },
  {
    name: 'a file of the kernel left writable',
    // DAC lets root open /proc/mtrr, and anybody /proc/pressure; what is written there asks for more or is one's own.
    command: `find /proc /sys -path '/proc/[0-9]*' -prune -o -path '/proc/*self' -prune -o -type f -writable -print 2>/dev/null | grep -vE '^/proc/(mtrr|pressure/.*)$' && echo TOP-SECRET; true`,
    harm: false,
  },
  {
    name: 'set the memory types of the machine',
    command: 'echo "base=0xf8000000 size=0x400000 type=uncachable" >/proc/mtrr',
    harm: false,
    stopped: /not permitted|denied|Read-only|No such file|Invalid/i,
  },

  // Files, by other calls than those that name them.
  {
    name: 'change a file outside by a descriptor for reading',
    command: perl(
      'open F, "<", "$ENV{OUT}/target"; chmod 0777, F or print "stopped: $!"; utime 1, 1, F; $n = "user.x\\0"; syscall(190, fileno F, $n, $n, 6, 0)',
    ),
    harm: true,
    stopped: /stopped/,
  },
  {
    name: 'set an attribute of a file outside',
    command: perl(
      '$p = "$ENV{OUT}/target\\0"; $n = "user.x\\0"; print "stopped: $!" if syscall(188, $p, $n, $n, 6, 0)',
    ),
    harm: false,
    stopped: /stopped: (?:Read-only file system|Operation not)/,
  },
  {
    name: 'set a flag of a file outside',
    command: perl(
      'open F, "<", "$ENV{OUT}/target"; $f = pack("L", 0x40); ioctl(F, 0x40086602, $f) or print "stopped: $!"',
    ),
    harm: false,
    stopped: /stopped/,
  },
  {
    name: 'a hard link to an open file outside',
    command: perl(
      'unlink "link"; open F, "<", "$ENV{OUT}/target"; $p = "/proc/self/fd/" . fileno(F) . "\\0"; $q = "link\\0"; print "stopped: $!" if syscall(265, -100, $p, -100, $q, 0x400); open G, ">>", "link"; print G "x"',
    ),
    harm: true,
    stopped: /stopped: Invalid cross-device link/,
  },
  {
    name: 'reopen a file outside by /proc',
    command: 'exec 9<"$OUT/target"; echo x >/proc/self/fd/9',
    harm: true,
  },
  {
    name: 'move the workspace itself',
    command: 'mv "$WS" "$ROOT/moved"',
    harm: false,
    stopped: /busy|Read-only|cannot move|denied/i,
  },
  {
    name: 'move the folder above the workspace',
    command: 'mv "$ROOT" "$ROOT-moved"',
    harm: false,
    stopped: /busy|Read-only|cannot move|denied/i,
  },
  {
    name: 'move a folder of the workspace away under a write',
    command:
      'mkdir a; (cd a; mv ../a ../b; ln -s "$OUT" ../a; echo x >../a/new; cd -P ../a && echo x >newer)',
    harm: true,
  },
  {
    name: 'a link that comes and goes while it is written',
    command: perl(
      'mkdir "d"; if (fork == 0) { for (1..4000) { rmdir "d"; symlink $ENV{OUT}, "d"; unlink "d"; mkdir "d" } exit } for (1..4000) { if (open F, ">", "d/new") { close F; unlink "$ENV{WS}/d/new" if !-l "d" } } wait',
    ),
    harm: false,
  },
  {
    name: 'names that are exchanged while they are written',
    command: perl(
      'mkdir "d"; symlink $ENV{OUT}, "e"; $d = "d\\0"; $e = "e\\0"; if (fork == 0) { syscall(316, -100, $d, -100, $e, 2) for 1..8000; exit } for (1..8000) { open F, ">", "d/new" and close F } wait',
    ),
    harm: true,
  },

  // Processes and what they keep open.
  {
    name: 'descriptors of the first process',
    command: `find /proc/1/fd -type l -printf '%l\\n' 2>/dev/null | grep -vE '^(/dev/null|pipe:.*|anon_inode:.*|.*nacre-pipes.* \\(deleted\\))$' && echo TOP-SECRET; true`,
    harm: false,
  },
  {
    name: 'descriptors that were left open on a terminal',
    command: `find /proc/self/fd -type l -printf '%f %l\\n' >fds; grep -vE '^[012] /dev/(pts/[0-9]+|tty|console)$| /proc/| /dev/null$| .*work space|^[012] /dev/pts' fds && echo TOP-SECRET; true`,
    changes: { pty: true },
    harm: false,
  },
  {
    name: 'descriptors that were left open in a session',
    command: `for p in $$ $PPID 1; do find /proc/$p/fd -lname '/*' -printf '%l\\n'; done | grep -vE '^(/dev/null|/proc/.*|/run/nacre.*|.*nacre-pipes.*|.*work space.*)$' && echo TOP-SECRET; true`,
    changes: { session: 'fds' },
    harm: false,
  },
  {
    name: 'a terminal for a run that has none',
    command: '(echo x >/dev/tty) 2>&1; setsid sh -c "(echo x >/dev/tty) 2>&1"',
    harm: false,
    stopped: /No such device or address/,
  },
  {
    name: 'paste into a console',
    command: perl('$x = "\\3x"; print ioctl(STDIN, 0x541c, $x) ? "TOP-SECRET" : "stopped: $!"'),
    changes: { pty: true },
    harm: false,
    stopped: /stopped: Operation not permitted/,
  },
  {
    name: 'be spared by the killer of memory',
    command: 'echo -1000 >/proc/self/oom_score_adj',
    harm: false,
    stopped: /denied|not permitted/i,
  },
  {
    name: 'a program for every file of a kind',
    command: 'echo ":nacre:M::NACRE::/bin/true:" >/proc/sys/fs/binfmt_misc/register',
    harm: false,
    stopped: /Read-only|denied|No such file|nonexistent/i,
  },

  // The network that is off.
  {
    name: 'talk to a server of this machine by any of its addresses',
    command:
      'for a in 127.0.0.1 ::1 ::ffff:127.0.0.1 0.0.0.0 127.1.2.3; do (exec 3<>/dev/tcp/$a/$PORT && cat <&3) 2>&1; done',
    harm: true,
    changes: { network: 'off' },
    stopped: /refused|unreachable/i,
  },
  {
    name: 'ask for a name',
    command:
      'getent hosts example.com localhost.localdomain && echo TOP-SECRET; echo x >/dev/udp/127.0.0.53/53; echo asked',
    harm: false,
    changes: { network: 'off' },
    stopped: /asked/,
  },
  {
    name: 'a metadata server of a cloud',
    command: '(exec 3<>/dev/tcp/169.254.169.254/80) 2>&1 && echo TOP-SECRET; true',
    harm: false,
    changes: { network: 'off' },
    stopped: /unreachable/i,
  },
]
