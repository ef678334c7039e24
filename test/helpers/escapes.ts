import type { RequestInput } from '../../lib/protocol/request/request.ts'

/** One way out of the sandbox. Commands find places in `$OUT`, `$STATE`, `$HOME`, `$WS`, `$VICTIM`. */
export interface Escape {
  name: string
  command: string
  changes?: Partial<RequestInput>
  /** It wants a server with a socket outside. */
  socket?: true
  /**
   * It does harm without a sandbox, harmlessly for the machine: that is tried too, so that the test is
   * known to see it. False: only tried inside.
   */
  harm: boolean
  /** What the output shows where it was stopped, beside nothing outside having changed. */
  stopped?: RegExp
  /** For root only, or for anybody but root. */
  user?: 'root' | 'ordinary'
}

/** The output of a program in Perl, which Linux systems have for git and for Debian. */
export function perl(program: string): string {
  return `perl -e '${program}' 2>&1`
}

export const escapes: readonly Escape[] = [
  // Writing by path.
  { name: 'write a file outside', command: 'echo x >"$OUT/target"', harm: true },
  { name: 'append to a file outside', command: 'echo x >>"$OUT/target"', harm: true },
  { name: 'create a file outside', command: 'touch "$OUT/new"', harm: true },
  { name: 'make a folder outside', command: 'mkdir "$OUT/new"', harm: true },
  { name: 'remove a file outside', command: 'rm -f "$OUT/target"', harm: true },
  { name: 'remove a folder outside', command: 'rmdir "$OUT/folder"', harm: true },
  { name: 'truncate a file outside', command: 'truncate -s 0 "$OUT/target"', harm: true },
  { name: 'change the mode of a file outside', command: 'chmod 777 "$OUT/target"', harm: true },
  {
    name: 'change the times of a file outside',
    command: 'touch -d 2001-01-01 "$OUT/target"',
    harm: true,
  },
  {
    name: 'change the owner of a file outside',
    command: 'chown 12345 "$OUT/target"',
    harm: true,
    user: 'root',
  },
  { name: 'rename a file outside', command: 'mv "$OUT/target" "$OUT/other"', harm: true },
  { name: 'rename a file out of a foreign folder', command: 'mv "$OUT/target" .', harm: true },
  { name: 'rename a file into a foreign folder', command: 'mv mine "$OUT/"', harm: true },
  {
    name: 'exchange names with a file outside',
    command: `${perl('exit !rename("mine", "$ENV{OUT}/target")')}; true`,
    harm: true,
  },
  { name: 'write through ..', command: 'echo x >../outside/target', harm: true },
  { name: 'write into the home', command: 'echo x >>"$HOME/.bashrc"', harm: true },

  // Links.
  {
    name: 'write through a symbolic link',
    command: 'ln -s "$OUT/target" link; echo x >link',
    harm: true,
  },
  {
    name: 'write through a linked folder',
    command: 'ln -s "$OUT" link; echo x >link/new',
    harm: true,
  },
  {
    name: 'write through a relative link',
    command: 'ln -s ../outside link; echo x >link/new',
    harm: true,
  },
  {
    name: 'make a hard link to a file outside',
    command: 'ln -f "$OUT/target" link; echo x >>link',
    harm: true,
  },
  { name: 'make a hard link outside', command: 'ln mine "$OUT/link"', harm: true },
  { name: 'copy over a link with cp', command: 'ln -s "$OUT/target" l; cp mine l', harm: true },
  {
    name: 'unpack an archive with a link in it',
    command: 'mkdir a; ln -s "$OUT" a/l; tar cf a.tar a/l; rm -r a; tar xf a.tar; echo x >a/l/new',
    harm: true,
  },
  {
    name: 'a link in the private tmp',
    command: 'ln -s "$OUT" /tmp/l; echo x >/tmp/l/new; rm -f /tmp/l',
    harm: true,
  },

  // Secrets.
  { name: 'read an SSH key', command: 'cat "$HOME/.ssh/id"', harm: true },
  { name: 'list the SSH keys', command: 'ls "$HOME/.ssh" && echo TOP-SECRET names', harm: true },
  { name: 'read cloud credentials', command: 'cat "$HOME/.aws/credentials"', harm: true },
  { name: 'read .netrc', command: 'cat "$HOME/.netrc"', harm: true },
  { name: 'read a token below .config', command: 'cat "$HOME/.config/gh/hosts.yml"', harm: true },
  { name: 'read the state of nacre', command: 'cat "$STATE/history"', harm: true },
  {
    name: 'read the configuration of nacre',
    command: 'cat "$HOME/.config/nacre/config.json"',
    harm: true,
  },
  {
    name: 'read a secret through a link',
    command: 'ln -s "$HOME/.ssh" keys; cat keys/id',
    harm: true,
  },
  {
    name: 'read a secret by its inode',
    command: 'find "$HOME" -xdev -type f -exec cat {} +',
    harm: true,
  },
  {
    name: 'make a hidden folder readable',
    command: 'chmod 755 "$HOME/.ssh"; cat "$HOME/.ssh/id"',
    harm: false,
  },
  {
    name: 'put another folder over a hidden one',
    command: 'mv "$HOME/.ssh" "$HOME/.old"; cat "$HOME/.old/id"',
    harm: true,
  },
  {
    name: 'unmount a hidden folder',
    command: 'umount "$HOME/.ssh" 2>&1; cat "$HOME/.ssh/id"',
    harm: false,
  },

  // /proc.
  {
    name: 'see processes outside',
    command: '[ -d /proc/$VICTIM ] && grep -q sleep /proc/$VICTIM/comm && echo TOP-SECRET',
    harm: true,
  },
  {
    name: 'reach the root of the first process',
    command: 'cat "/proc/1/root$HOME/.ssh/id"',
    harm: false,
  },
  {
    name: 'write through the root of a process',
    command: 'for p in /proc/[0-9]*; do echo x 2>/dev/null >"$p/root$OUT/target"; done; true',
    harm: true,
  },
  {
    name: 'write through the directory of a process',
    // By the name of its own folder: without a sandbox this comes to processes of other tests too.
    command:
      'for p in /proc/[0-9]*; do echo x 2>/dev/null >"$p/cwd/../../${ROOT##*/}/outside/target"; done; true',
    harm: true,
  },
  {
    name: 'reach descriptors of nacre',
    command: 'ls /proc/$NACRE_PID/fd >/dev/null && echo TOP-SECRET',
    harm: true,
  },
  {
    name: 'descriptors that were left open',
    command: `find /proc/self/fd -type l -printf '%f %l\\n' >fds; grep -vE '^[012] | /proc/| /dev/null$| .*work space' fds && echo TOP-SECRET`,
    harm: false,
  },
  {
    name: 'set a kernel parameter',
    command: 'echo nacre-test >/proc/sys/kernel/domainname',
    harm: false,
    stopped: /Read-only|denied/i,
  },
  {
    name: 'set a kernel parameter after remounting',
    command: 'mount -o remount,rw /proc/sys 2>&1; echo nacre-test >/proc/sys/kernel/domainname',
    harm: false,
    stopped: /Read-only|denied/i,
  },
  {
    name: 'trigger sysrq',
    command: 'echo h >/proc/sysrq-trigger',
    harm: false,
    stopped: /Read-only|denied|No such file/i,
  },
  {
    name: 'use the memory of the machine',
    command: 'head -c 1 /dev/mem; head -c 1 /proc/kcore',
    harm: false,
    stopped: /No such file|not permitted|denied/i,
  },
  {
    name: 'choose a core dump handler',
    command: 'echo "|/bin/true" >/proc/sys/kernel/core_pattern',
    harm: false,
    stopped: /Read-only|denied/i,
  },
  {
    name: 'change a control group',
    command: 'mkdir /sys/fs/cgroup/nacre-test',
    harm: false,
    stopped: /Read-only|denied|No such/i,
  },

  // Mounts and namespaces.
  {
    name: 'mount a file system',
    command: 'mount -t tmpfs none "$OUT" 2>&1',
    harm: false,
    stopped: /denied|permission|not permitted|root|superuser/i,
  },
  {
    name: 'remount writable',
    command: 'mount -o remount,rw,bind / 2>&1; echo x >"$OUT/target"',
    harm: false,
    stopped: /denied|permission|not permitted|root|superuser/i,
  },
  {
    name: 'remount in a nested namespace',
    command:
      'unshare -Urm sh -c "mount -o remount,rw,bind / ; mount -o remount,rw,bind $OUT; echo x >$OUT/target" 2>&1',
    harm: false,
    stopped: /denied|permission|not permitted|Read-only/i,
  },
  {
    name: 'uncover a secret in a nested namespace',
    command: 'unshare -Urm sh -c "umount $HOME/.ssh; umount -l $HOME/.ssh; cat $HOME/.ssh/id" 2>&1',
    harm: false,
  },
  {
    name: 'bind the home elsewhere in a nested namespace',
    command:
      'mkdir m; unshare -Urm sh -c "mount --bind $HOME m; cat m/.ssh/id; mount --rbind $HOME m; cat m/.ssh/id" 2>&1',
    harm: false,
  },
  {
    name: 'see through a new /proc',
    command:
      'mkdir p; unshare -Urmp --fork sh -c "mount -t proc proc p; cat p/1/root$HOME/.ssh/id" 2>&1',
    harm: false,
  },
  {
    name: 'enter the namespaces of another process',
    command:
      'nsenter -t 1 -m cat "$HOME/.ssh/id" 2>&1; nsenter -t $VICTIM -m -p cat "$HOME/.ssh/id" 2>&1',
    harm: false,
  },
  {
    name: 'change the root',
    command: 'chroot / true 2>&1 && echo TOP-SECRET; unshare -Ur chroot / cat "$HOME/.ssh/id" 2>&1',
    harm: false,
  },
  {
    name: 'leave a changed root by ..',
    command: `mkdir r; ${perl('chroot("r"); chdir("..") for 1..99; chroot("."); open F, ">", "$ENV{OUT}/new" or print $!')}`,
    harm: false,
  },
  {
    name: 'pivot the root',
    command:
      'mkdir -p n/o; unshare -Urm sh -c "mount --bind n n && pivot_root n n/o && cat /o$HOME/.ssh/id" 2>&1',
    harm: false,
  },
  {
    name: 'make a device of the disk',
    command: 'mknod disk b 254 0 2>&1; head -c 1 disk',
    harm: false,
    stopped: /not permitted|denied/i,
  },
  {
    name: 'open a disk',
    command: 'ls -d /dev/[svn][dv]* 2>&1; cat /proc/partitions >/dev/null',
    harm: false,
    stopped: /No such file/,
  },

  // Other processes.
  {
    name: 'end a process outside',
    // Where it succeeds, its end comes a moment after.
    command:
      'kill -KILL $VICTIM; while grep -qs "^State:.[^ZX]" /proc/$VICTIM/status; do :; done; true',
    harm: true,
  },
  { name: 'end everything', command: 'kill -KILL -1', harm: false },
  { name: 'end by group', command: 'kill -TERM -$VICTIM; kill -KILL 0', harm: false },
  {
    name: 'trace a process outside',
    command: perl(
      'print syscall(101, 16, $ENV{VICTIM} + 0, 0, 0) == 0 ? "TOP-SECRET" : "stopped: $!"',
    ),
    harm: false,
    stopped: /stopped/,
  },
  {
    name: 'read the memory of a process outside',
    command: 'head -c 1 /proc/$VICTIM/mem 2>&1',
    harm: false,
    stopped: /No such file|denied|cannot open/i,
  },
  {
    name: 'change the priority of a process outside',
    command: 'renice -n 19 -p $VICTIM 2>&1',
    harm: false,
    stopped: /No such process|failed|denied/i,
  },
  {
    name: 'become another user',
    command:
      'setpriv --reuid 12345 --clear-groups id -u 2>&1; su nobody -s /bin/sh -c "echo TOP-SECRET" </dev/null 2>&1',
    harm: false,
  },
  {
    name: 'gain by a setuid program',
    command:
      'cp /bin/sh s && chmod u+s s; ./s -c "echo x >$OUT/target" 2>&1; grep -q "NoNewPrivs:.1" /proc/self/status && echo stopped',
    harm: false,
    stopped: /stopped/,
  },
  {
    name: 'a job left behind',
    command: '(setsid sh -c "sleep 0.2; echo x >$OUT/target" >/dev/null 2>&1 &)',
    harm: false,
  },
  {
    name: 'read the kernel keyring',
    command: perl('print syscall(250, 0, -4, 1) == -1 ? "stopped: $!" : "TOP-SECRET"'),
    harm: true,
    stopped: /stopped/,
  },
  {
    name: 'write to the shared memory of others',
    command: 'echo x >/dev/shm/nacre-test && ls -A /dev/shm',
    harm: false,
    stopped: /^nacre-test$/m,
  },
  {
    name: 'see message queues and semaphores of others',
    command: perl('print "queue ", (msgget(0x6e616372, 0) // "stopped")'),
    harm: false,
    stopped: /stopped/,
  },

  // Terminals and devices.
  {
    name: 'type into a terminal',
    command: perl(
      '$x = "x"; open T, "+<", "/dev/tty"; print ioctl(T, 0x5412, $x) ? "TOP-SECRET" : "stopped: $!"',
    ),
    harm: true,
    changes: { pty: true },
    stopped: /stopped: Operation not permitted/,
  },
  {
    name: 'type with high bits in the request',
    command: perl(
      '$x = "x"; print syscall(16, 0, 0x100005412, $x) == 0 ? "TOP-SECRET" : "stopped: $!"',
    ),
    harm: true,
    changes: { pty: true },
    stopped: /stopped: Operation not permitted/,
  },
  {
    name: 'open other terminals',
    command:
      'ls /dev/pts; for t in /dev/pts/[0-9]*; do echo TOP-SECRET >$t; done 2>/dev/null; ls /dev/vcs* /dev/tty1 2>&1',
    harm: false,
    stopped: /No such file/,
  },

  // Sockets and network.
  {
    name: 'talk to a socket outside',
    socket: true,
    command: perl(
      'use IO::Socket::UNIX; $s = IO::Socket::UNIX->new(Peer => "$ENV{OUT}/socket") or print "stopped: $!"; print <$s> if $s',
    ),
    harm: true,
    stopped: /stopped/,
  },
  {
    name: 'talk to an abstract socket',
    command: perl(
      // Node before 22 pads the name with zeros, which belong to it then (unix(7)).
      'use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0); for ("a*", "a108") { if (connect(S, pack("S $_", 1, "\\0$ENV{ABSTRACT}"))) { print <S>; exit } } print "stopped: $!"',
    ),
    harm: true,
    changes: { network: 'off' },
    stopped: /stopped/,
  },
  {
    name: 'reach the network',
    command: 'ls /sys/class/net; cut -d: -f1 -s /proc/net/dev',
    harm: false,
    changes: { network: 'off' },
    stopped: /lo/,
  },
  {
    name: 'a raw packet socket',
    command: perl('use Socket; print socket(S, 17, SOCK_RAW, 768) ? "TOP-SECRET" : "stopped: $!"'),
    harm: true,
    user: 'root',
    stopped: /stopped/,
  },
  {
    name: 'a socket of the hypervisor',
    command: perl('use Socket; print socket(S, 40, SOCK_STREAM, 0) ? "TOP-SECRET" : "stopped: $!"'),
    harm: true,
    stopped: /stopped/,
  },
  {
    name: 'hear of the kernel by netlink',
    command: perl('use Socket; print socket(S, 16, SOCK_RAW, 15) ? "TOP-SECRET" : "stopped: $!"'),
    harm: true,
    stopped: /stopped/,
  },
  {
    name: 'an asynchronous ring',
    command: perl(
      '$p = "\\0" x 120; print syscall(425, 1, $p) == -1 && $!{ENOSYS} ? "stopped" : "TOP-SECRET"',
    ),
    harm: false,
    stopped: /stopped/,
  },

  // What builds the sandbox.
  {
    name: 'code loaded by the loader',
    command: 'true',
    changes: { env: { LD_PRELOAD: '/nacre/no-library.so' } },
    harm: false,
    stopped: /^(?:.*(?:'true'|from LD_PRELOAD cannot be preloaded|bash).*\n?)*$/,
  },
  {
    name: 'a run without leave to write',
    command: 'echo x >"$WS/mine"; cat "$WS/mine"',
    changes: { sandbox: 'read-only' },
    harm: false,
    stopped: /^mine$/m,
  },
  {
    name: 'the repository of nacre itself',
    command: 'rm -rf "$STATE" "$STATE"/* "$STATE"/sandbox/*; echo >"$STATE/x"',
    harm: false,
    stopped: /Read-only|denied|cannot remove/i,
  },
]
