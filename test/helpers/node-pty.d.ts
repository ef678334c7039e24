/// <reference path="../../node_modules/node-pty/node-pty.d.ts" />

/** The package stands under the name of the one that it replaces; its types do not. */
declare module 'node-pty' {
  export * from '@lydell/node-pty'
}
