#define BOOST_TEST_MODULE tokens
#include <boost/test/included/unit_test.hpp>
