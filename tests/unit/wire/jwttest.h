/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys for tests, and a token that the RSA key has signed at 1000000 seconds after 1970. */
#ifndef TESTS_UNIT_WIRE_JWTTEST_H
#define TESTS_UNIT_WIRE_JWTTEST_H

#define RSA_PEM                                                                                    \
    "-----BEGIN PUBLIC KEY-----\n"                                                                 \
    "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAuBN/bxpU74etGqz4wIOw\n"                           \
    "hZkv3DHIDLBPnIyPJ6AUlCwJKij9o+UNXEW4D3hY55A+MrnJz7prcsci0MWmS02R\n"                           \
    "qGuK8a1NM0MrQjo9DHa1fXTKTIdvui4si8yXlDyXm3fyzirQifxU8VlFSAQ0SU0x\n"                           \
    "jLJkGj5hh4rGsYVCLo/qsMKOUrGbFqpBAIEFqMD2ks/jjTR0RDH3aK5Cy9QFp6U5\n"                           \
    "NGj6188eX/md88w74TfxdOM7HAN0g2ntNpg1i6lxiFKUJZn+kQjfqyDsmk0OY55W\n"                           \
    "gb8Fqw6eOlrDlNFW0ohLHnb+MtY3hvyZaFUOykFZPKlZDgmDS7/xNdHvr6nDoYxi\n"                           \
    "UwIDAQAB\n"                                                                                   \
    "-----END PUBLIC KEY-----\n"

#define RSA_N                                                                                      \
    "uBN_bxpU74etGqz4wIOwhZkv3DHIDLBPnIyPJ6AUlCwJKij9o-UNXEW4D3hY55A-MrnJz7"                       \
    "prcsci0MWmS02RqGuK8a1NM0MrQjo9DHa1fXTKTIdvui4si8yXlDyXm3fyzirQifxU8VlF"                       \
    "SAQ0SU0xjLJkGj5hh4rGsYVCLo_qsMKOUrGbFqpBAIEFqMD2ks_jjTR0RDH3aK5Cy9QFp6"                       \
    "U5NGj6188eX_md88w74TfxdOM7HAN0g2ntNpg1i6lxiFKUJZn-kQjfqyDsmk0OY55Wgb8F"                       \
    "qw6eOlrDlNFW0ohLHnb-MtY3hvyZaFUOykFZPKlZDgmDS7_xNdHvr6nDoYxiUw"

#define RSA_TOKEN                                                                                  \
    "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6ImxjIn0.eyJpc3MiOiJsaWJyZW"                       \
    "NoYXQiLCJhdWQiOiJjb2RlYXBpIiwic3ViIjoidTEiLCJpYXQiOjEwMDAwMDAsIm5iZiI6"                       \
    "MTAwMDAwMCwiZXhwIjoxMDAwMzAwfQ.NDOXyLMXiEP993d4Lk2IFlwBJfafIEIrGl5mFCt"                       \
    "FcTixqEoGnf0U7rEXFjEBcQaAT8Vw-YiBJ0uRge5MWuhpit306nqBFHUMDGf9ciV4HdtO7"                       \
    "VKxM8_EB29ipQdurvmSICApP71paqzexSF86DJZFqwZl-n98PbvSTWqXM60U3N7DowMKAY"                       \
    "ffOPXYvqxPmBmUA1KPeQ-t0mLAi-xIWFgZY0MFuV3UTd-LprzZMEQQiMYOBf0zZSOykSPs"                       \
    "XYAki-eeRIo7DUb0qk3ZBhcCftbL3eoi8CaZW5wK3oMkInkNUtBucPi3RtqcTJsVysU7vo"                       \
    "xtXnecriR6AUK0L85SxSzLw"

#define SHORT_RSA_PEM                                                                              \
    "-----BEGIN PUBLIC KEY-----\n"                                                                 \
    "MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCpDjtpw0D9w4Xd7nvL/GxSt5Wr\n"                           \
    "liv1YY8Bw4nPSWsqRMUN6xDvGSg5jup5si65VAkB3x2oWBSjNBjELXo8lzueNh3+\n"                           \
    "KN8W2DZ2FrwrtC3kJeYT55atOkJi+GD9Xv1C/d2bQAdeir/4NrE42xwJVF8t8Nue\n"                           \
    "fa5Dd3CSj5anE9v5rwIDAQAB\n"                                                                   \
    "-----END PUBLIC KEY-----\n"

#define P256_PEM                                                                                   \
    "-----BEGIN PUBLIC KEY-----\n"                                                                 \
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEyqYYLw5AMTTpPwOfjFeoNcjsFdta\n"                           \
    "P46vRQKdNZsWbIRq//XF14HSjS6ipDaybW4uMz7OmNJs/eDWVn73/1StHg==\n"                               \
    "-----END PUBLIC KEY-----\n"

#endif
