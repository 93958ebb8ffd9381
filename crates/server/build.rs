//! Embeds the console anew when it was built anew. Builds nothing itself: Node may be absent.

fn main() {
    println!("cargo:rerun-if-changed=../../console/dist");
}
