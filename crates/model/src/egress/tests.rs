//! What is called and what is not, as a table.

use super::*;

const HERE: &str = "10.0.0.5";

fn check(policy: &Egress, host: &str, port: u16) -> Result<(), Ground> {
    let own = Own { here: [7070].into(), elsewhere: ["10.0.0.9:7071".parse().unwrap()].into() };
    let ip = literal(host).unwrap_or_else(|| panic!("{host} is no address"));
    let judged = policy.judge((ip, port).into(), &own, |ip| ip == HERE.parse::<IpAddr>().unwrap());
    judged.map_err(|forbidden| forbidden.ground)
}

#[test]
fn harmful_addresses_are_not_called_however_they_are_written() {
    use Ground::*;
    let table: &[(Ground, &[&str])] = &[
        (
            Metadata,
            &[
                "169.254.169.254",
                "169.254.169.254.",
                "2852039166",
                "0xa9fea9fe",
                "0xa9.0xfe.0xa9.0xfe",
                "0251.0376.0251.0376",
                "169.254.43518",
                "[::ffff:169.254.169.254]",
                "::169.254.169.254",
                "[64:ff9b::a9fe:a9fe]",
                "[64:ff9b:1::a9fe:a9fe]",
                "[2002:a9fe:a9fe::1]",
                "[2001:0:1:1:1:1:5601:5601]",
                "[fd00:ec2::254]",
                "[fd20:ce::254]",
                "100.100.100.200",
                "168.63.129.16",
                "192.0.0.192",
            ],
        ),
        (LinkLocal, &["169.254.1.1", "[fe80::1]", "fe80::1%eth0", "[febf::1]"]),
        (Multicast, &["224.0.0.1", "239.255.255.255", "[ff02::1]"]),
        (Unspecified, &["0.0.0.0", "0", "0.1.2.3", "[::]", "[::ffff:0.0.0.0]"]),
        (Reserved, &["255.255.255.255", "240.0.0.1"]),
    ];
    for (ground, hosts) in table {
        for host in *hosts {
            assert_eq!(check(&Egress::open(), host, 80), Err(*ground), "{host}");
            assert_eq!(check(&Egress::default(), host, 80), Err(*ground), "{host}");
        }
    }
}

#[test]
fn private_networks_are_called_where_that_is_allowed() {
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "017700000001",
        "10.1.2.3",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "100.64.0.1",
        "198.18.0.1",
        "[::1]",
        "[::ffff:10.0.0.1]",
        "[fd00::1]",
        "[fec0::1]",
    ] {
        assert_eq!(check(&Egress::open(), host, 80), Ok(()), "{host}");
        assert_eq!(check(&Egress::default(), host, 80), Err(Ground::Private), "{host}");
    }
    for host in ["8.8.8.8", "172.32.0.1", "100.128.0.1", "198.20.0.1", "[2606:4700::1111]", "93.184.216.34"] {
        assert_eq!(check(&Egress::default(), host, 80), Ok(()), "{host}");
    }
}

#[test]
fn nobodys_word_leads_back_into_duly() {
    for (host, port, own) in [
        ("127.0.0.1", 7070, true),
        ("127.0.0.2", 7070, true),
        ("[::1]", 7070, true),
        ("[::ffff:127.0.0.1]", 7070, true),
        (HERE, 7070, true),
        ("10.0.0.9", 7071, true),
        ("10.0.0.9", 7070, false),
        ("127.0.0.1", 7071, false),
        ("10.0.0.6", 7070, false),
    ] {
        let expected = if own { Err(Ground::Own) } else { Ok(()) };
        assert_eq!(check(&Egress::open(), host, port), expected, "{host}:{port}");
    }
}

#[test]
fn named_ones_are_called_and_others_are_not() {
    let nets = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    let policy = Egress {
        private: false,
        allow: nets(&["10.0.0.0/8", "127.0.0.1:7070", "169.254.10.0/24", "fd00::/8"]),
        deny: nets(&["10.9.0.0/16", "8.8.8.8"]),
    };
    for (host, port, expected) in [
        ("10.1.2.3", 80, Ok(())),
        ("10.9.2.3", 80, Err(Ground::Denied)),
        ("127.0.0.1", 7070, Ok(())),
        ("127.0.0.1", 80, Err(Ground::Private)),
        ("169.254.10.7", 80, Ok(())),
        ("169.254.11.7", 80, Err(Ground::LinkLocal)),
        ("[::ffff:10.1.2.3]", 80, Ok(())),
        ("[fd12::1]", 80, Ok(())),
        ("8.8.8.8", 53, Err(Ground::Denied)),
    ] {
        assert_eq!(check(&policy, host, port), expected, "{host}:{port}");
    }
}

#[test]
fn a_name_is_no_address() {
    for host in
        ["localhost", "example.com", "1.2.3.4.5", "256.1.1.1", "09.1.1.1", "0x1g", "", ".", "1..2", "+1", "4294967296"]
    {
        assert_eq!(literal(host), None, "{host}");
    }
}

#[test]
fn networks_are_read_as_they_are_written() {
    for text in ["10.1.2.3", "10.0.0.0/8", "10.1.2.3:8080", "fd00::/8", "[fd00::1]:80"] {
        assert_eq!(text.parse::<Net>().map(|net| net.to_string()), Ok(text.to_string()));
    }
    for text in ["", "10.0.0.0/33", "example.com", "10.0.0.0/8:80", "10.0.0"] {
        assert!(text.parse::<Net>().is_err(), "{text}");
    }
}
