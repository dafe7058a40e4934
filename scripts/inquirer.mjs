// Leaves out what inquirer loads for its editor prompt, which no command uses: tables of all character sets.
const EDITOR = "@inquirer/external-editor";

export const INQUIRER = {
  name: "inquirer",
  resolveId: (path) => (path === EDITOR ? `\0${EDITOR}` : undefined),
  load: (id) => (id === `\0${EDITOR}` ? "export const editAsync = undefined;" : undefined),
};
