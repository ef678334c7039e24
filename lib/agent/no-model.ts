/** What a prompt for a model is told while there is none. */
export const noModelMessage =
  'No model is set: name one with --model provider/name (or NACRE_MODEL, or "model" in the ' +
  "configuration). Commands work without one: nacre -p '!<command>'"
