#define BOOST_TEST_MODULE testing
#include <boost/test/included/unit_test.hpp>
