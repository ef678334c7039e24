/**
 * What counts as dead code: `npm run unused`, once over everything and once over what is shipped,
 * where a thing that only tests reach is dead too.
 */

/**
 * @param {{ production?: boolean }} run whether only what is shipped counts
 * @returns {import('knip').KnipConfig}
 */
export default function configure({ production = false }) {
  return {
    entry: [
      'lib/{main,index,client}.ts!',
      '*.config.js',
      '.ci/tools/*.{js,ts}',
      'test/{run,smoke}.js',
      'test/**/*.test.ts',
      // The bundler of the tests puts it in the place of fast-check.
      'test/helpers/seeded-properties.ts',
      'fixtures/programs/*.{ts,mjs}',
    ],
    project: [
      'lib/**/*.ts!',
      'bin/*.js!',
      '*.config.js',
      '{test,.ci}/**/*.{ts,js}',
      'fixtures/programs/*.{ts,mjs}',
    ],
    // A type that the signature of an exported function names belongs to it. A function that its own
    // file uses may be exported for its tests alone; one that not even they use may not.
    ignoreExportsUsedInFile: production ? true : { interface: true, type: true },
    // The addon of the terminal is found beside its package at run time.
    ignoreDependencies: production ? ['node-pty'] : [],
    // Programs of the system; .ci/run installs those that are not on every machine.
    ignoreBinaries: [
      ...[
        'strip',
        'mount',
        'umount',
        'ssh-keygen',
        'unshare',
        'mkfifo',
        'cc',
        'script',
        'ip',
        'openssl',
        'perf',
      ],
    ],
  }
}
