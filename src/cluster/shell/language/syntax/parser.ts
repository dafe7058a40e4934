// Only just-bash's parser, so that a bundle does not include its commands.
export { parse } from "just-bash";
