/* SPDX-License-Identifier: Apache-2.0
 *
 * fakes/fake_net.h - the network half of the broker, for tests of the other half: it answers no
 * call and has one virtual file, "/etc/hosts". */
#ifndef FAKES_FAKE_NET_H
#define FAKES_FAKE_NET_H

#define FAKE_NET_PATH "/etc/hosts"
#define FAKE_NET_TEXT "192.0.2.1 virtual.example\n"

#endif
