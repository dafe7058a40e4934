import { type Message, MessageError } from "../../util/i18n/message-error.js";

/**
 * An incomplete line, or one that no kubectl accepts. Text and exit code (1) are kubectl's own.
 * @param verb whose `--help` the hint names; "" is kubectl's
 * @param hint default: that `--help`
 */
export function lineError(verb: string, text: Message | string, hint: Message = helpHint(verb)): MessageError {
  return new MessageError("FAILED", typeof text === "string" ? { verbatim: text } : text, hint);
}

function helpHint(verb: string): Message {
  return ["kubectlHelpHint", { line: ["kubectl", verb, "--help"].filter((word) => word !== "").join(" ") }];
}

/** kubectl's words for a line without objects. Mirrors k8s.io/cli-runtime/pkg/resource/builder.go (missingResourceError). */
export const NO_RESOURCES = `You must provide one or more resources by argument or filename.
Example resource specifications include:
   '-f rsrc.yaml'
   '--filename=rsrc.json'
   '<resource> <name>'
   '<resource>'`;

/** Mirrors RequireFilenameOrKustomize in k8s.io/cli-runtime/pkg/resource/builder.go. */
export const NO_FILES = "must specify one of -f and -k";

/** A line that kubectl may support, but the built-in one does not. */
export function unknown(what: string): MessageError {
  return new MessageError("USAGE", ["kubectlUnknown", { what }], ["kubectlUnknownHint"]);
}
