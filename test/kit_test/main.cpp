#define BOOST_TEST_MODULE kit
#include <boost/test/included/unit_test.hpp>
