#define BOOST_TEST_MODULE integration
#include <boost/test/included/unit_test.hpp>
