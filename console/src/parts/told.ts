// What the server told the page when it was loaded: the nonce for styles, whether set-up is to be done, whether there is an
// identity provider, whether this browser is surely not signed in. Never changes while the page lives.
const content = document.querySelector('meta[name="duly"]')?.getAttribute("content") ?? ""
const [first, ...words] = content.split(" ")

export const nonce: string | undefined = first || undefined
export const toSetUp = words.includes("to-set-up")
export const hasProvider = words.includes("provider")
export const isStranger = words.includes("stranger")
