// Saves what the server sends as a file. By the client, not by a link: a link cannot say which tenant it is about.
export function save(content: Blob, name: string) {
  const link = document.createElement("a")
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
