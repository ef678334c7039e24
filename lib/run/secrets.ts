import { type Origin, originPolicies } from '../protocol/origin.ts'
import { copyWithout, hideVariables } from '../system/process/own-process.ts'

type Variables = Readonly<Record<string, string | undefined>>

/** Keys of model providers that nacre reads itself. No command needs them, so no notice names them. */
const ownKeys: readonly string[] = ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'OPENROUTER_API_KEY']

/** Names of variables that hold a secret, as the documentation of tools and services has them. */
const secretNames = new RegExp(
  [
    '(?:TOKEN|SECRETS?|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|COOKIE|CONNECTION_STRING)(?:_|$)',
    '(?:API|ACCESS|SECRET|PRIVATE|SIGNING|ENCRYPTION|MASTER|ADMIN|ACCOUNT|STORAGE|SERVICE|DEPLOY|AUTH|APP)_?KEY(?:_|$)',
    '(?:^|_)(?:PASS|DSN|PAT|JWT)$',
    '_AUTH$',
    '^(?:MYSQL_PWD|SSHPASS|DOCKER_AUTH_CONFIG)$',
  ].join('|'),
  'i',
)

/** Names that say where a secret is kept, or describe one. */
const namesOfOthers =
  /_(?:FILE|PATH|DIR|DIRECTORY|HELPER|URL|URI|ENDPOINT|NAME|TYPE|TTL|LIMIT)$|^GOOGLE_APPLICATION_CREDENTIALS$/i

const isSwitch = /^(?:[01]|true|false)?$/i

/** How secrets look, by what they are called: the prefixes that their issuers document. */
const shapes: readonly (readonly [name: string, shape: string])[] = [
  ['github-token', String.raw`\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}`],
  ['gitlab-token', String.raw`\bgl(?:pat|dt|ptt|rt|cbt|soat|ft|agent)-[\w.-]{16,}`],
  ['slack-token', String.raw`\bxox[abeprs]-[\w-]{10,}|\bxapp-[\w-]{10,}`],
  ['slack-webhook', String.raw`\bhooks\.slack\.com/services/[\w/]{10,}`],
  ['aws-key', String.raw`\b(?:AKIA|ASIA)[A-Z\d]{16}\b`],
  ['google-key', String.raw`\bAIza[\w-]{30,}|\bGOCSPX-[\w-]{20,}|\bya29\.[\w-]{20,}`],
  ['azure-key', String.raw`\b(?:AccountKey|SharedAccessKey)=[\w+/=]{20,}`],
  [
    'api-key',
    String.raw`\b(?:sk|gsk|xai|pplx|nvapi|lin_api|re)[-_][\w-]{20,}|\b[rs]k_live_\w{16,}`,
  ],
  ['package-token', String.raw`\b(?:npm_|hf_|dckr_pat_|rubygems_|pypi-)[\w-]{30,}`],
  ['service-token', String.raw`\bSG\.[\w-]{16,}\.[\w-]{16,}|\b(?:dop_v1_|shpat_|hvs\.)[\w-]{20,}`],
  ['age-key', String.raw`\bAGE-SECRET-KEY-1[A-Z\d]{20,}`],
  // No dash before it, else every part of a long word of dashes would be read to its end.
  ['jwt', String.raw`(?<![\w-])eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]+`],
  ['authorization', String.raw`\b(?:Bearer|Basic)\s+[\w.~+/-]{16,}=*`],
  ['login', String.raw`://[^\s/:@]{0,80}:[^\s/@]+@`],
  [
    'private-key',
    '-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:[^]*?-----END [A-Z ]{0,30}PRIVATE KEY-----|[^]*)',
  ],
]

const anyShape = new RegExp(shapes.map(([, shape]) => shape).join('|'))

/** `NAME=value` of a shell, an option or the query of a URL, with the quotes of the value. */
const assignments = /\b([A-Za-z_]\w{2,60})=("[^"]*"|'[^']*'|[^\s;&|<>()"'`$][^\s;&|<>()"'`]*)/g

/** A shorter value would stand in many words by chance. */
const minMaskedChars = 6

export interface SecretsOptions {
  /** The environment of nacre. */
  environment: Variables
  /** That of this process: its secrets are hidden in `/proc` from a model's commands. Default: they are not. */
  ownEnvironment?: Record<string, string | undefined> | undefined
  /** Names of more variables that are secrets. */
  modelKeys?: readonly string[] | undefined
  /** Names of those that a model's commands get nevertheless. */
  passEnv?: readonly string[] | undefined
}

export type Secrets = ReturnType<typeof createSecrets>

/** The secrets of one executor: which variables a model's commands do not get, and what is masked in a text. */
export function createSecrets(options: SecretsOptions) {
  const { environment, ownEnvironment } = options
  const passed = new Set(options.passEnv)
  const named = new Set(options.modelKeys)
  /** Conversations and connections that know what is withheld from them. */
  const told = new Set<string | null>()
  /** What a variable of this value is, so that each is looked at once. */
  const seen = new Map<string, { value: string; isSecret: boolean }>()
  let isHidden = false

  function looksSecret(name: string, value: string): boolean {
    const known = seen.get(name)
    if (known?.value === value) return known.isSecret
    const isSecret = named.has(name)
      ? value !== ''
      : isNamedSecret(name, value) || anyShape.test(value)
    seen.set(name, { value, isSecret })
    return isSecret
  }

  const isSecret = (name: string, value: string): boolean =>
    !passed.has(name) && looksSecret(name, value)

  /** The variables whose values stand in a text; longer values first, since one may stand in another. */
  function findIn(text: string): [name: string, value: string][] {
    const found: [string, string][] = []
    const look = (name: string, value = ''): void => {
      if (value.length >= minMaskedChars && text.includes(value)) found.push([name, value])
    }
    for (const name in environment) look(name, environment[name])
    // What start files set is known from the runs that took it over.
    for (const [name, { value }] of seen) look(name, value)
    return found.sort(([, one], [, other]) => other.length - one.length)
  }

  /** Which variables commands of this origin do not get. */
  const withheldFrom = (origin: Origin): ((name: string, value: string) => boolean) =>
    originPolicies[origin].withholdsKeys ? isSecret : () => false

  return {
    withheldFrom,
    /** What of this environment others may read. */
    copyOpen: (from: Variables) => copyWithout(isSecret, from),
    /** Hides the secrets of this process in `/proc`, from a model's first command on. */
    hideOwn(origin: Origin): void {
      if (isHidden || !ownEnvironment || !originPolicies[origin].withholdsKeys) return
      isHidden = true
      const names = Object.keys(ownEnvironment)
      hideVariables(
        names.filter((name) => isSecret(name, ownEnvironment[name] ?? '')),
        ownEnvironment,
      )
    },
    /** Names what was withheld, once to each conversation or connection. */
    tell(belongsTo: string | null, held: ReadonlySet<string>): string[] {
      const names = [...held].filter((name) => !named.has(name) && !ownKeys.includes(name))
      if (names.length === 0 || told.has(belongsTo)) return []
      told.add(belongsTo)
      const list = names.sort().join(', ')
      return [
        `Withheld from the model's commands because they look like secrets: ${list}. The user can pass them by name with \`agent.pass_env\` in the configuration.`,
      ]
    },
    /** The text with `[secret:NAME]` in place of each secret in it. */
    mask(text: string): string {
      if (text.length < minMaskedChars) return text
      let masked = text
      for (const [name, value] of findIn(text)) {
        if (looksSecret(name, value)) masked = masked.replaceAll(value, `[secret:${name}]`)
      }
      if (anyShape.test(masked)) masked = masked.replace(new RegExp(anyShape, 'g'), maskShape)
      return masked.includes('=') ? masked.replace(assignments, maskAssignment) : masked
    },
  }
}

/** By its name. A switch is not a secret, nor is the place where one is kept. */
function isNamedSecret(name: string, value: string): boolean {
  return secretNames.test(name) && !namesOfOthers.test(name) && !isSwitch.test(value)
}

function maskShape(found: string): string {
  const [name = ''] = shapes.find(([, shape]) => new RegExp(shape).test(found)) ?? []
  return name === 'login' ? `://[secret:${name}]@` : `[secret:${name}]`
}

/** A reference to another variable is not a secret itself. */
function maskAssignment(whole: string, name: string, value: string): string {
  const isPlain = !/^["']?(?:\$|\[secret:|["']$)/.test(value)
  return isPlain && isNamedSecret(name, value) ? `${name}=[secret:${name}]` : whole
}
