#define BOOST_TEST_MODULE differential
#include <boost/test/included/unit_test.hpp>
