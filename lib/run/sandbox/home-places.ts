import { type Dirent, readdirSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ifSeen, isWithin } from '../../system/look.ts'

/** What a sandboxed shell may not see. All paths are canonical. */
export interface HiddenPlace {
  path: string
  folder: boolean
  /** What of it is there all the same. */
  shown: readonly string[]
}

/**
 * What tools and the start files of shells need of a home, by the folders in which it lies; the first one is the
 * home. Everything else in these folders is hidden, in the home itself what begins with a dot.
 */
const needed: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    '': [
      '.bashrc .bashrc.d .bash_profile .bash_login .bash_logout .bash_aliases .bash_functions .bash_completion',
      '.bash_completion.d .bash_it .oh-my-bash .profile .zshrc .zshenv .zprofile .zlogin .zlogout .zsh .oh-my-zsh',
      '.zinit .zplug .zim .antigen .p10k.zsh .zcompdump .fzf .fzf.bash .fzf.zsh .inputrc .hushlogin .terminfo',
      '.dircolors .dir_colors .vimrc .vim .nanorc .tmux.conf .screenrc .selected_editor .wget-hsts .ripgreprc .ackrc',
      '.sudo_as_admin_successful .gitconfig .gitignore .gitignore_global .gitattributes .editorconfig .ignore',
      '.rgignore .fdignore .prettierrc .prettierrc.json .eslintrc .eslintrc.json .eslintrc.js .stylelintrc',
      '.browserslistrc .babelrc .clang-format .clang-tidy .rustfmt.toml .rubocop.yml .pylintrc .flake8 .mypy.ini',
      '.irbrc .pryrc .Rprofile .R .tool-versions .asdfrc .nvmrc .node-version .python-version .ruby-version',
      '.java-version .nvm .volta .fnm .asdf .pyenv .rbenv .rvm .nodenv .goenv .gvm .jenv .phpenv .plenv .sdkman',
      '.rustup .juliaup .elan .ghcup .nix-profile .nix-defexpr .linuxbrew .proto .rye .pixi .poetry .virtualenvs',
      '.venv .cache .cargo .npm .npm-global .npm-packages .yarn .pnpm-store .bun .deno .go .coursier .dotnet .cabal',
      '.stack .opam .julia .pub-cache .nimble .hex .mix .krew .android .luarocks .texmf .fonts .icons .themes',
    ],
    '.config': ['go bat fd nvim ripgrep ruff yamllint pycodestyle flake8 starship.toml fontconfig'],
    '.config/git': ['config ignore attributes'],
    '.config/fish': ['config.fish functions conf.d completions'],
    '.config/composer': ['vendor'],
    '.local': ['bin lib lib64 include'],
    '.local/state': ['nix'],
    '.local/share': [
      'man bash-completion fnm mise rtx pnpm uv pipx virtualenv virtualenvs pypoetry nvim gem fonts zoxide fish',
      'zsh icons themes mime applications',
    ],
    '.m2': ['repository wrapper'],
    '.gradle': ['caches wrapper native jdks'],
    '.ivy2': ['cache local'],
    '.sbt': ['boot launchers'],
    '.nuget': ['packages'],
    '.gem': ['ruby'],
    '.bundle': ['cache plugin'],
    '.composer': ['vendor'],
    '.conda': ['pkgs envs'],
    '.terraform.d': ['plugins plugin-cache'],
  }).map(([folder, names]) => [folder, new Set(names.join(' ').split(' '))]),
)

/** Below the home: what opens doors elsewhere, and would be seen without its name here, or by another one. */
export const secretPaths: readonly string[] = [
  ...['.ssh', '.gnupg', '.password-store', '.local/share/keyrings', '.vault-token'],
  ...['.aws', '.azure', '.config/gcloud', '.kube', '.docker', '.terraform.d/credentials.tfrc.json'],
  ...['.config/gh', '.config/glab-cli', '.config/hub', '.config/op', '.config/rclone'],
  ...['.netrc', '.git-credentials', '.config/git/credentials', '.npmrc', '.pypirc'],
  ...['.cargo/credentials', '.cargo/credentials.toml', '.hex/hex.config', '.julia/servers'],
  ...['.pub-cache/credentials.json', '.nimble/github_api_token', '.dotnet/corefx'],
  ...['.android/adbkey', '.android/debug.keystore', '.local/share/fish/fish_history'],
  ...['.local/share/nvim/shada', '.local/share/uv/credentials', '.mozilla', 'snap/firefox'],
  ...['snap/chromium', '.cache/huggingface/token', '.cache/huggingface/stored_tokens'],
  ...['google-chrome', 'chromium', 'mozilla', 'BraveSoftware', 'microsoft-edge'].map(
    (browser) => `.cache/${browser}`,
  ),
]

/**
 * What one mount takes of bwrap, which looks through the whole table of mounts for each but for an empty
 * folder's: 0.22 ms and 0.035 ms.
 */
const [bindCost, emptyCost] = [6, 1]

/** A folder in parts: what is to be hidden there, what is seen, and what hiding costs. */
interface Parts {
  hidden: HiddenPlace[]
  shown: string[]
  cost: number
}

/**
 * Hides what lies in a home, whose path is canonical, and no tool needs. `open`: canonical places that are seen
 * nevertheless. A folder in which less is seen than hidden is replaced as a whole.
 */
export function hideInHome(home: string, open: readonly string[]): HiddenPlace[] {
  // Whoever works on a whole home reads no more of it.
  const opened = open.filter((path) => path !== home && isWithin(path, home))
  const links: string[] = []

  function divide(folder: string): Parts {
    const names = needed.get(folder)
    const entries = ifSeen(() => readdirSync(join(home, folder), { withFileTypes: true })) ?? []
    const parts = entries.map((entry) => divideEntry(join(folder, entry.name), entry, names))
    const shown = parts.flatMap((part) => part.shown)
    const cost = parts.reduce((sum, part) => sum + part.cost, 0)
    const costReplaced = emptyCost + bindCost * shown.length
    // A home without anything in it can be listed all the same.
    const isBareHome = folder === '' && shown.length === 0
    if (isBareHome || cost <= costReplaced)
      return { hidden: parts.flatMap(({ hidden }) => hidden), shown, cost }
    return { hidden: [hide(folder, shown.filter(isThere))], shown, cost: costReplaced }
  }

  function divideEntry(name: string, entry: Dirent, names?: ReadonlySet<string>): Parts {
    const path = join(home, name)
    const seen = { hidden: [], shown: [path], cost: 0 }
    if (opened.some((place) => isWithin(path, place))) return seen
    if (entry.isDirectory() && needed.has(name)) return divide(name)
    if (names?.has(entry.name)) return seen
    if (name === entry.name && !name.startsWith('.')) return seen
    if (entry.isSymbolicLink()) {
      links.push(path)
      return { hidden: [], shown: [], cost: 0 }
    }
    const shown = opened.filter((place) => isWithin(place, path))
    if (entry.isDirectory()) return { hidden: [hide(name, shown)], shown, cost: emptyCost }
    return { hidden: [{ path, folder: false, shown }], shown, cost: bindCost }
  }

  const hide = (name: string, shown: string[]) => ({ path: join(home, name), folder: true, shown })
  const { hidden, shown } = divide('')
  const kept = [...opened, ...shown.filter((path) => path.startsWith(`${home}/.`))]
  return [...hidden, ...links.flatMap((link) => hideTarget(link, home, kept))]
}

/** What lies elsewhere in the home under a hidden name (a folder of dot files), if nothing else needs it. */
function hideTarget(link: string, home: string, kept: readonly string[]): HiddenPlace[] {
  const path = ifSeen(() => realpathSync.native(link))
  if (path === null || path === home || !isWithin(path, home)) return []
  if (kept.some((place) => isWithin(path, place) || isWithin(place, path))) return []
  const folder = statSync(path).isDirectory()
  return folder && dirname(path) === home ? [] : [{ path, folder, shown: [] }]
}

/** A link that leads nowhere cannot be mounted. */
function isThere(path: string): boolean {
  return Boolean(ifSeen(() => statSync(path, { throwIfNoEntry: false })))
}
