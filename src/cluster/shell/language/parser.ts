// just-bash's parser alone: a bundle then has none of its commands.
export { parse } from "just-bash";
