/** A command that is hard to end. */
export interface StubbornProgram {
  name: string
  /** Programs without which it cannot be tried. */
  needs: readonly string[]
  /** Only root may do this. */
  asRoot?: boolean
  /** How many processes carry the token once it is up. */
  processes: number
  command(token: string, folder: string): string
}

/** Stays, and carries the token in its words: a number that `sleep` takes. */
const stay = (token: string) => `sleep ${token}`
/** The same, deaf to everything that asks. */
const deaf = (token: string) =>
  `sh -c 'trap "" TERM INT HUP QUIT; while :; do sleep ${token}; done'`
const silent = '</dev/null >/dev/null 2>&1'

/** Every way to live on that was thought of: escapes from the group, the session, the parents, the marks. */
export const stubbornPrograms: readonly StubbornProgram[] = [
  {
    name: 'a plain program',
    needs: [],
    processes: 1,
    command: (token) => `${stay(token)}; :`,
  },
  {
    name: 'children in the background',
    needs: [],
    processes: 3,
    command: (token) => `${stay(token)} & ${stay(token)} & ${stay(token)} & wait`,
  },
  {
    name: 'a session of its own',
    needs: ['setsid'],
    processes: 1,
    command: (token) => `setsid ${stay(token)} & wait`,
  },
  {
    name: 'forked twice',
    needs: ['setsid'],
    processes: 2,
    command: (token) => `(setsid ${stay(token)} &); ${stay(token)}`,
  },
  {
    name: 'nohup',
    needs: ['nohup'],
    processes: 2,
    command: (token) => `nohup ${stay(token)} >/dev/null 2>&1 & ${stay(token)}`,
  },
  {
    name: 'disowned',
    needs: [],
    processes: 2,
    command: (token) => `${stay(token)} & disown -a; ${stay(token)}`,
  },
  {
    name: 'deaf to every question',
    needs: [],
    processes: 2,
    command: (token) => `${deaf(token)} & ${deaf(token)} & wait; ${deaf(token)}`,
  },
  {
    name: 'one that starts another when it is asked to end',
    needs: ['setsid'],
    processes: 1,
    command: (token) =>
      `trap '(setsid ${stay(token)} &)' TERM INT HUP; ${stay(token)} & while :; do wait; done`,
  },
  {
    name: 'stopped processes',
    needs: [],
    processes: 2,
    command: (token) => `${stay(token)} & a=$!; ${stay(token)} & sleep 0.3; kill -STOP $a $!; wait`,
  },
  {
    name: 'an empty environment',
    needs: ['setsid'],
    processes: 1,
    command: (token) => `env -i setsid ${stay(token)} & wait`,
  },
  {
    name: 'a daemon that shows nothing of its run',
    needs: ['setsid'],
    processes: 2,
    command: (token) => `(env -i setsid ${stay(token)} ${silent} &); ${stay(token)}`,
  },
  {
    name: 'a deaf daemon that shows nothing of its run',
    needs: ['setsid'],
    processes: 2,
    command: (token) => `(env -i setsid ${deaf(token)} ${silent} &); ${stay(token)}`,
  },
  {
    name: 'job control',
    needs: [],
    processes: 2,
    command: (token) => `set -m; ${stay(token)} & ${stay(token)} & wait`,
  },
  {
    name: 'closed outputs',
    needs: ['setsid'],
    processes: 2,
    command: (token) => `(setsid ${stay(token)} <&- >&- 2>&- &); ${stay(token)}`,
  },
  {
    name: 'a terminal of its own',
    needs: ['script'],
    processes: 1,
    command: (token) => `script -qec '${stay(token)}' /dev/null`,
  },
  {
    name: 'another user',
    needs: ['su'],
    asRoot: true,
    processes: 1,
    command: (token) => `su nobody -s /bin/sh -c '${stay(token)}; :'`,
  },
  {
    name: 'a daemon of another user',
    needs: ['setpriv', 'setsid'],
    asRoot: true,
    processes: 2,
    command: (token) =>
      `(env -i setsid setpriv --reuid 65534 --clear-groups ${stay(token)} ${silent} &); ${stay(token)}`,
  },
  {
    name: 'a container',
    needs: ['unshare'],
    asRoot: true,
    processes: 1,
    command: (token) => `unshare -fpm --mount-proc sh -c '${stay(token)}; :'`,
  },
  {
    name: 'a container left alone',
    needs: ['unshare', 'setsid'],
    asRoot: true,
    processes: 2,
    command: (token) =>
      `(env -i setsid unshare -fpm --mount-proc ${stay(token)} ${silent} &); ${stay(token)}`,
  },
  {
    name: 'a daemon of Python',
    needs: ['python3'],
    processes: 2,
    command: (token) =>
      `python3 -c 'import os
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
    os.closerange(0, 64)
    os.execve("/bin/sleep", ["sleep", "${token}"], {})
os.wait()'; ${stay(token)}`,
  },
  {
    name: 'ssh-agent',
    needs: ['ssh-agent'],
    processes: 2,
    command: (token, folder) => `eval $(ssh-agent -a ${folder}/${token}); ${stay(token)}`,
  },
  {
    name: 'a server of tmux',
    needs: ['tmux'],
    processes: 2,
    command: (token, folder) =>
      `tmux -S ${folder}/${token} new -d '${stay(token)}'; ${stay(token)}`,
  },
  {
    name: 'start-stop-daemon',
    needs: ['start-stop-daemon'],
    processes: 2,
    command: (token, folder) =>
      `start-stop-daemon --start --background --pidfile ${folder}/${token} --make-pidfile --exec /bin/sleep -- ${token}; ${stay(token)}`,
  },
  {
    name: 'a bus',
    needs: ['dbus-daemon'],
    processes: 2,
    command: (token, folder) =>
      `dbus-daemon --session --fork --address=unix:path=${folder}/${token}; ${stay(token)}`,
  },
  {
    name: 'a storm of forks',
    needs: ['setsid'],
    processes: 12,
    command: (token, folder) =>
      `printf '%s' 'n=$1; [ $n -gt 0 ] || exec sleep ${token}; setsid sh "$0" $((n - 1)) & [ $((n % 5)) = 0 ] && exec sleep ${token}' >${folder}/${token}; for i in 1 2 3 4; do sh ${folder}/${token} 10 & done; wait`,
  },
]
