#include "init/attempts.h"

#include "test.h"

#define SNMP(out_no_routes, no_ports)                                                                        \
        "Ip: Forwarding DefaultTTL OutDiscards OutNoRoutes ReasmTimeout\n"                                   \
        "Ip: 1 64 7 " out_no_routes " 9\n"                                                                   \
        "Udp: InDatagrams NoPorts InErrors\n"                                                                \
        "Udp: 5 " no_ports " 6\n"                                                                            \
        "UdpLite: InDatagrams NoPorts InErrors\n"                                                            \
        "UdpLite: 100 200 300\n"
#define SNMP6(out_no_routes, no_ports)                                                                       \
        "Ip6InReceives                   \t50\n"                                                             \
        "Ip6OutNoRoutes                  \t" out_no_routes "\n"                                              \
        "Udp6NoPorts                     \t" no_ports "\n"                                                   \
        "UdpLite6NoPorts                 \t400\n"

TEST(connections_without_a_route_and_refused_queries_are_counted)
{
        CHECK_INT(attempts_count(SNMP("0", "0"), SNMP6("0", "0")), 0);
        CHECK_INT(attempts_count(SNMP("3", "0"), SNMP6("0", "0")), 3);
        CHECK_INT(attempts_count(SNMP("0", "12"), SNMP6("0", "0")), 12);
        CHECK_INT(attempts_count(SNMP("1", "20"), SNMP6("300", "4000")), 4321);
}

TEST(files_that_are_missing_or_cut_count_as_nothing)
{
        static const char whole[] = SNMP("1", "2");
        char text[sizeof whole];
        CHECK_INT(attempts_count("", ""), 0);
        CHECK_INT(attempts_count("\n\n", "\n"), 0);
        CHECK_INT(attempts_count("Ip:", "Ip6OutNoRoutes "), 0);
        CHECK_INT(attempts_count("Ip: OutNoRoutes\nIp:", ""), 0);
        CHECK_INT(attempts_count("Ip: OutNoRoutes\nTcp: 5\n", ""), 0);
        CHECK_INT(attempts_count("Ip: OutNoRoutes\nIp: 5", ""), 5);
        for (size_t n = 0; n < sizeof whole; n++) {
                memcpy(text, whole, n);
                text[n] = '\0';
                CHECK(attempts_count(text, "") <= 3);
        }
}
