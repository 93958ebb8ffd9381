// All English words. An area is a file; its name is the namespace.
import admin from "./admin"
import designer from "./designer"
import editor from "./editor"
import entry from "./entry"
import monitor from "./monitor"
import parts from "./parts"
import shell from "./shell"

export default { admin, designer, editor, entry, monitor, parts, shell }
