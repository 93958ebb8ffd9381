//! Compiles the agent protocol in pure Rust, so that no protoc is needed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto/link.proto");
    let files = protox::compile(["proto/link.proto"], ["proto"])?;
    tonic_prost_build::configure()
        .bytes(".duly.link.v1.LogFrame.bytes")
        .bytes(".duly.link.v1.Task.body")
        .bytes(".duly.link.v1.Order.params")
        .skip_debug([".duly.link.v1.SecretValue"])
        .compile_fds(files)?;
    Ok(())
}
