/** What a prompt for a model is told while there is none. */
export const noModelMessage =
  'No model is set: name one with --model provider/name (or NACRE_MODEL, or "model" in the ' +
  'configuration), or set the key of a provider, such as ANTHROPIC_API_KEY or OPENAI_API_KEY. ' +
  "Commands work without one: nacre -p '!<command>'"
