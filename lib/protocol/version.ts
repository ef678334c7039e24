import manifest from '../../package.json' with { type: 'json' }

/** As in package.json; put in when the program is built. */
export const version: string = manifest.version
